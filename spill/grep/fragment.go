package grep

import (
	"encoding/binary"
	"math/bits"
	"regexp/syntax"
)

// Most of a large text has nothing to do with the pattern. A fragment is a piece of text that every match must hold;
// two of its bytes, the pair that is rarest in a sample of the text, are looked for eight places at a time, in both
// cases at once. What is found is compared with the fragment, and only then with the pattern.
type fragment struct {
	text   []byte // lower case
	first  int    // places of the two bytes,
	second int    // the same for a fragment of one byte
}

// fragments lists what every match of a pattern holds. k and s are left out: beside the other case they have a
// third form in Unicode.
func fragments(re *syntax.Regexp) [][]byte {
	switch re.Op {
	case syntax.OpLiteral:
		var all [][]byte
		var run []byte
		for _, r := range append(re.Rune, -1) {
			c := lower(byte(r))
			if r >= 0 && r < 0x80 && c != 'k' && c != 's' {
				run = append(run, c)
				continue
			}
			if len(run) > 0 {
				all = append(all, run)
			}
			run = nil
		}
		return all
	case syntax.OpConcat:
		var all [][]byte
		for _, sub := range re.Sub {
			all = append(all, fragments(sub)...)
		}
		return all
	case syntax.OpCapture, syntax.OpPlus:
		return fragments(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return fragments(re.Sub[0])
		}
	}
	return nil
}

// rarest chooses the fragment and pair of bytes that occur least in a sample. nil: the pattern needs none.
func rarest(all [][]byte, sample []byte) *fragment {
	var seen [256]int
	for _, c := range sample {
		seen[lower(c)]++
	}
	var best *fragment
	least := 0
	for _, text := range all {
		for i := range text {
			for j := i; j < len(text); j++ {
				if i == j && len(text) > 1 {
					continue
				}
				n := (seen[text[i]] + 1) * (seen[text[j]] + 1)
				if text[i] == text[j] {
					n *= 2 // the same byte again is more likely than another one
				}
				if i == j {
					n = (seen[text[i]] + 1) * (len(sample) + 1)
				}
				if best == nil || n < least {
					best, least = &fragment{text, i, j}, n
				}
			}
		}
	}
	return best
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

const (
	everyByte = 0x0101010101010101
	lowSeven  = 0x7f7f7f7f7f7f7f7f
)

// folded repeats a byte, and says which bit to set in the text before comparing: that of the lower case of letters.
func folded(c byte) (wanted, fold uint64) {
	if 'a' <= c && c <= 'z' {
		fold = everyByte * 0x20
	}
	return everyByte * uint64(c), fold
}

// find returns where the fragment first stands in b from i on, -1 if nowhere.
func (f *fragment) find(b []byte, i int) int {
	wanted1, fold1 := folded(f.text[f.first])
	wanted2, fold2 := folded(f.text[f.second])
	last := len(b) - len(f.text) // the last place where it can stand
	for ; i+7 <= last; i += 8 {
		x := (binary.LittleEndian.Uint64(b[i+f.first:]) | fold1) ^ wanted1
		y := (binary.LittleEndian.Uint64(b[i+f.second:]) | fold2) ^ wanted2
		x |= y // a byte of zero: both are there
		mark := ^((x&lowSeven + lowSeven) | x | lowSeven)
		for ; mark != 0; mark &= mark - 1 {
			if at := i + bits.TrailingZeros64(mark)/8; f.at(b, at) {
				return at
			}
		}
	}
	for ; i <= last; i++ {
		if f.at(b, i) {
			return i
		}
	}
	return -1
}

func (f *fragment) at(b []byte, i int) bool {
	for n, c := range f.text {
		if lower(b[i+n]) != c {
			return false
		}
	}
	return true
}
