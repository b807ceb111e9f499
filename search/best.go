package search

import (
	"math"
	"slices"
)

// candidate is a document on its way to becoming a Hit.
type candidate struct {
	doc          int32
	score, cover float32
	name         float32 // weight of the name's words asked for
	fields       uint16
}

// best lists the best documents that may be seen, and how many there are; it adds these to the union. Scores and places
// are compared as one number: of some ten thousand documents only the first thousand are put in order.
func (b *board) best(e *errand) ([]candidate, int) {
	x := e.x
	keys := b.keys[:0]
	for _, d := range b.touched {
		if e.keep != nil && !e.keep(x.docs[d].id) {
			continue
		}
		if e.union != nil {
			e.union[d] = true
		}
		keys = append(keys, rankKey(b.cells[d].score, x.docs[d].place))
	}
	b.keys = keys
	total := len(keys)
	if total > e.most {
		smallest(keys, e.most)
		keys = keys[:e.most]
	}
	slices.Sort(keys)
	top := make([]candidate, len(keys))
	for i, k := range keys {
		d := x.order[uint32(k)]
		c := &b.cells[d]
		top[i] = candidate{d, c.score, c.cover, c.name, c.fields}
	}
	return top, total
}

// rankKey is smaller for a higher score, and for an earlier place among equals. Scores are not negative, so that their
// bits are in their order.
func rankKey(score float32, place int32) uint64 {
	return uint64(^math.Float32bits(score))<<32 | uint64(uint32(place))
}

// smallest moves the n smallest keys to the front, in no order.
func smallest(keys []uint64, n int) {
	for lo, hi := 0, len(keys)-1; lo < hi; {
		pivot := keys[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for keys[i] < pivot {
				i++
			}
			for keys[j] > pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			hi = j
		case n >= i:
			lo = i
		default:
			return
		}
	}
}
