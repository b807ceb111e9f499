package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
	"unicode/utf8"
)

// wide is from how many bytes on a string is decoded by two processors.
const wide = 4 << 20

// plainly are the bytes that escapes of two bytes stand for, by their second one; 0 for none.
var plainly = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// decodeText writes what the inside of a string says into out, which is long enough, and returns that part of it; nil if
// an escape is none.
func decodeText(out, b []byte) []byte {
	i, o := 0, 0
	for i < len(b) {
		if i+8 <= len(b) && o+8 <= len(out) { // what is copied too much is written over
			w := binary.LittleEndian.Uint64(b[i:])
			binary.LittleEndian.PutUint64(out[o:], w)
			back := w ^ lowBits*'\\'
			mark := (back - lowBits) &^ back & highBits
			n := bits.TrailingZeros64(mark) / 8
			if i, o = i+n, o+n; n == 8 {
				continue
			}
		} else if b[i] != '\\' {
			out[o] = b[i]
			i, o = i+1, o+1
			continue
		}
		if i+1 < len(b) {
			if c := plainly[b[i+1]]; c != 0 {
				out[o] = c
				i, o = i+2, o+1
				continue
			}
		}
		if escape(b, i) < 0 {
			return nil
		}
		r, rest := unescape(b[i:])
		i = len(b) - len(rest)
		o += utf8.EncodeRune(out[o:], r)
	}
	return out[:o:o]
}

// decodeHalves is decodeText by two processors. It is not ok where it can't say at once how long each half becomes.
func decodeHalves(b []byte) (out []byte, ok bool) {
	if bytes.Contains(b, []byte(`\u`)) {
		return nil, false
	}
	cut := border(b, len(b)/2)
	if cut < 0 {
		return nil, false
	}
	left := cut - bytes.Count(b[:cut], []byte{'\\'}) + bytes.Count(b[:cut], []byte(`\\`))
	right := len(b) - cut - bytes.Count(b[cut:], []byte{'\\'}) + bytes.Count(b[cut:], []byte(`\\`))
	out = make([]byte, left+right)
	var half []byte
	var work sync.WaitGroup
	work.Go(func() { half = decodeText(out[left:], b[cut:]) })
	first := decodeText(out[:left:left], b[:cut])
	work.Wait()
	if len(first) != left || len(half) != right {
		return nil, false
	}
	return out, true
}

// border returns the first place from i on where an escape begins, -1 if none is near.
func border(b []byte, i int) int {
	for end := min(len(b), i+wide/4); i < end; i++ {
		if b[i] == '\\' && b[i-1] != '\\' {
			return i
		}
	}
	return -1
}
