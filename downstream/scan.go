package downstream

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// One pass over a message checks that it is JSON and finds where its members lie, so that a large result is
// neither decoded nor copied to be found. Only the top level is looked at; what lies deeper is checked and skipped.

// maxDepth is the nesting encoding/json allows as well.
const maxDepth = 10000

// pair is one member of a JSON object: its name, the name as written with quotes, and the value as written.
type pair struct {
	name       string
	key, value []byte
}

// scanObject checks that data is one JSON object and shows each of its members, in order.
// On false some members may have been shown.
func scanObject(data []byte, show func(p pair)) bool {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return false
	}
	i = skipObject(data, i, 0, func(key, value []byte) { show(pair{keyName(key), key, value}) })
	return i >= 0 && skipSpace(data, i) == len(data)
}

// scanArray does the same for the elements of one JSON array.
func scanArray(data []byte, show func(value []byte)) bool {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '[' {
		return false
	}
	i = skipArray(data, i, 0, show)
	return i >= 0 && skipSpace(data, i) == len(data)
}

// keyName is the name behind a key as written, quotes included.
func keyName(key []byte) string {
	for _, c := range key {
		if c == '\\' {
			var name string
			if json.Unmarshal(key, &name) == nil {
				return name
			}
		}
	}
	return string(key[1 : len(key)-1])
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue gives the index after the value that starts at i, or -1 if there is none. So do its kin below.
func skipValue(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxDepth {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{':
		return skipObject(b, i, depth, nil)
	case '[':
		return skipArray(b, i, depth, nil)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	default:
		return skipNumber(b, i)
	}
}

func skipObject(b []byte, i, depth int, show func(key, value []byte)) int {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		keyStart := i
		if i = skipString(b, i); i < 0 {
			return -1
		}
		key := b[keyStart:i]
		i = skipSpace(b, i)
		if i >= len(b) || b[i] != ':' {
			return -1
		}
		start := skipSpace(b, i+1)
		if i = skipValue(b, start, depth+1); i < 0 {
			return -1
		}
		if show != nil {
			show(key, b[start:i:i])
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == '}' {
			return i + 1
		}
		if i >= len(b) || b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

func skipArray(b []byte, i, depth int, show func(value []byte)) int {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		start := i
		if i = skipValue(b, start, depth+1); i < 0 {
			return -1
		}
		if show != nil {
			show(b[start:i:i])
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ']' {
			return i + 1
		}
		if i >= len(b) || b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

// plain are the bytes a string can pass over.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// nearby is how many plain bytes in a row make it worth to go on by words.
const nearby = 16

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// special marks in a word of eight bytes the first one that a string can't pass over: a quote, a backslash
// or a control character. Higher marks may be false.
func special(w uint64) uint64 {
	quote := w ^ lowBits*'"'
	back := w ^ lowBits*'\\'
	return ((quote-lowBits)&^quote | (back-lowBits)&^back | (w-lowBits*0x20)&^w) & highBits
}

// skipString goes byte by byte where escapes are close together and word by word where they are not.
func skipString(b []byte, i int) int {
	i++
	for i < len(b) {
		for n := i; i < len(b) && plain[b[i]]; i++ {
			if i-n == nearby {
				i = skipPlain(b, i)
				break
			}
		}
		if i >= len(b) {
			return -1
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = skipEscape(b, i); i < 0 {
				return -1
			}
		case c < 0x20:
			return -1
		}
	}
	return -1
}

// skipPlain passes over whole words of plain bytes.
func skipPlain(b []byte, i int) int {
	for i+8 <= len(b) {
		if mark := special(binary.LittleEndian.Uint64(b[i:])); mark != 0 {
			return i + bits.TrailingZeros64(mark)/8
		}
		i += 8
	}
	return i
}

func skipEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return -1
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(b) {
			return -1
		}
		for _, c := range b[i+2 : i+6] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return -1
			}
		}
		return i + 6
	}
	return -1
}

func skipWord(b []byte, i int, word string) int {
	if i+len(word) > len(b) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func skipNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i = skipDigits(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipDigits wants one digit at least.
func skipDigits(b []byte, i int) int {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}
