package tokens

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/maphash"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// A vocabulary is the table of all tokens of an encoding. The usual form, three maps of strings, takes
// 34 MB and a quarter of a second; counting needs only the way from bytes to rank, so the tokens lie in
// one block of bytes and an open-addressed table of their indexes points into it.
type vocabulary struct {
	bytes []byte   // all tokens, end to end, by rank
	ends  []uint32 // where each token ends
	slots []uint32 // index+1 of a token, 0 = free
	seed  maphash.Seed
}

// readVocabulary reads one file of the offline tables: lines of a token in base64 and its rank, by rank.
func readVocabulary(name string) (*vocabulary, error) {
	f, err := assets.Assets.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open vocabulary: %w", err)
	}
	defer f.Close()
	v := &vocabulary{seed: maphash.MakeSeed()}
	lines := bufio.NewScanner(f)
	last := -1
	for lines.Scan() {
		coded, digits, found := bytes.Cut(lines.Bytes(), []byte(" "))
		if !found {
			continue
		}
		if v.bytes, err = base64.StdEncoding.AppendDecode(v.bytes, coded); err != nil {
			return nil, fmt.Errorf("decode vocabulary %s: %w", name, err)
		}
		v.ends = append(v.ends, uint32(len(v.bytes)))
		rank := number(digits)
		if rank <= last { // only the order of ranks counts, so a token's place may stand for its rank
			return nil, fmt.Errorf("vocabulary %s is out of order at %d", name, rank)
		}
		last = rank
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read vocabulary %s: %w", name, err)
	}
	v.bytes, v.ends = bytes.Clone(v.bytes), append([]uint32(nil), v.ends...)
	v.fill()
	return v, nil
}

func number(digits []byte) int {
	n := 0
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n
}

func (v *vocabulary) fill() {
	size := 1
	for size < 2*len(v.ends) {
		size *= 2
	}
	v.slots = make([]uint32, size)
	for i := range v.ends {
		at := v.slot(v.token(i))
		for v.slots[at] != 0 {
			at = (at + 1) & uint64(size-1)
		}
		v.slots[at] = uint32(i) + 1
	}
}

func (v *vocabulary) slot(token []byte) uint64 {
	return maphash.Bytes(v.seed, token) & uint64(len(v.slots)-1)
}

func (v *vocabulary) token(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = v.ends[i-1]
	}
	return v.bytes[start:v.ends[i]]
}

// rank returns the rank of a token, -1 if there is no such token.
func (v *vocabulary) rank(token []byte) int {
	for at := v.slot(token); v.slots[at] != 0; at = (at + 1) & uint64(len(v.slots)-1) {
		i := int(v.slots[at] - 1)
		if bytes.Equal(v.token(i), token) {
			return i
		}
	}
	return -1
}
