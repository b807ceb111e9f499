package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// The functions of this file return the index after what begins at i, or one of these.
const (
	invalid = -1
	tooDeep = -2
	stopped = -3 // nobody wants more
)

// value stands inside depth objects and arrays.
func value(b []byte, i, depth int) int {
	if i >= len(b) {
		return invalid
	}
	switch b[i] {
	case '"':
		return text(b, i)
	case '{', '[':
		return inside(b, i, depth, nil)
	case 't':
		return word(b, i, "true")
	case 'f':
		return word(b, i, "false")
	case 'n':
		return word(b, i, "null")
	}
	return number(b, i)
}

// inside goes through the object or array that opens at i. What stands in it is passed by visit, or skipped if that is nil.
func inside(b []byte, i, depth int, visit func(key Span, at int) int) int {
	if depth == MaxDepth {
		return tooDeep
	}
	object, closing := b[i] == '{', b[i]+2 // } and ] stand two after { and [
	i = Space(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1
	}
	for {
		key := Span{i, i}
		if object {
			if key.To = text(b, i); key.To < 0 {
				return invalid
			}
			i = Space(b, key.To)
			if i >= len(b) || b[i] != ':' {
				return invalid
			}
			i = Space(b, i+1)
		}
		switch {
		case visit == nil:
			i = value(b, i, depth+1)
		case i >= len(b):
			return invalid
		default:
			i = visit(key, i)
		}
		if i < 0 {
			return i
		}
		i = Space(b, i)
		if i < len(b) && b[i] == closing {
			return i + 1
		}
		if i >= len(b) || b[i] != ',' {
			return invalid
		}
		i = Space(b, i+1)
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

// text goes byte by byte where escapes are close together and word by word where they are not.
func text(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return invalid
	}
	for i++; ; {
		for n := i; i < len(b) && plain[b[i]]; i++ {
			if i-n == nearby {
				i = words(b, i)
				break
			}
		}
		if i >= len(b) {
			return invalid
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = escaped(b, i); i < 0 {
				return invalid
			}
		case c < 0x20:
			return invalid
		}
	}
}

// escaped passes over the escape at i, and over what follows as long as escapes are all of quotes: JSON within a string.
func escaped(b []byte, i int) int {
	if to := quotedJSON(b, i); to > i {
		return to
	}
	return escape(b, i)
}

// quotedJSON passes, eight bytes at a time and without a branch for each escape, over text that is plain but for escaped
// quotes: wherever one of quote and backslash stands, the other does. An escape begins at i or behind it.
func quotedJSON(b []byte, i int) int {
	carry := uint64(0) // the word before ended with a backslash
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		backs := zeros(w ^ lowBits*'\\')
		if backs<<8|carry != zeros(w^lowBits*'"') || (w-lowBits*0x20)&^w&highBits != 0 {
			break
		}
		carry = backs >> 56
	}
	return i - int(carry>>7)
}

// zeros marks exactly the bytes that are zero.
func zeros(x uint64) uint64 {
	const low = lowBits * 0x7f
	return ^((x&low + low) | x | low)
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// words passes over plain bytes, eight at a time.
func words(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if mark := special(binary.LittleEndian.Uint64(b[i:])); mark != 0 {
			return i + bits.TrailingZeros64(mark)/8
		}
	}
	return i
}

// special marks in a word of eight bytes the first one that a string can't pass over: a quote, a backslash
// or a control character. Higher marks may be false.
func special(w uint64) uint64 {
	quote := w ^ lowBits*'"'
	back := w ^ lowBits*'\\'
	return ((quote-lowBits)&^quote | (back-lowBits)&^back | (w-lowBits*0x20)&^w) & highBits
}

func escape(b []byte, i int) int {
	if i+1 >= len(b) {
		return invalid
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 <= len(b) && hex4(b[i+2:]) >= 0 {
			return i + 6
		}
	}
	return invalid
}

func word(b []byte, i int, w string) int {
	if i+len(w) > len(b) || string(b[i:i+len(w)]) != w {
		return invalid
	}
	return i + len(w)
}

func number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digits(b, i); i < 0 {
		return invalid
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return invalid
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i
}

// digits wants one digit at least.
func digits(b []byte, i int) int {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == start {
		return invalid
	}
	return i
}
