package tokens

import "container/heap"

// A merger splits pieces into tokens by byte pair merging: of all neighbours that form a token when
// joined, the pair of the lowest rank (the leftmost of equals) is joined first, until none is left. The
// candidates wait in a heap, so that a piece of n bytes costs n log n: the textbook search through all
// of them takes seconds for 50 kB of one letter. The zero merger is ready; it is not for concurrent use.
type merger struct {
	next, prev []int32 // the chain of parts, by start offset
	live       []int32 // rank of the pair that starts here, -1 = none or gone
	pairs      pairs
	starts     []int32
}

type pair struct{ rank, start int32 }

type pairs []pair

func (p pairs) Len() int      { return len(p) }
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p pairs) Less(i, j int) bool {
	return p[i].rank < p[j].rank || p[i].rank == p[j].rank && p[i].start < p[j].start
}
func (p *pairs) Push(x any) { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// split returns where the tokens of piece start; the slice is good until the next call.
func (m *merger) split(v *vocabulary, piece []byte) []int32 {
	n := int32(len(piece))
	m.reset(n)
	for i := range n - 1 {
		if rank := int32(v.rank(piece[i : i+2])); rank >= 0 {
			m.live[i] = rank
			m.pairs = append(m.pairs, pair{rank, i})
		}
	}
	heap.Init(&m.pairs)
	for len(m.pairs) > 0 {
		best := m.pairs[0]
		if m.live[best.start] != best.rank {
			heap.Pop(&m.pairs)
			continue
		}
		gone := m.next[best.start]
		after := m.next[gone]
		m.next[best.start] = after
		m.live[gone] = -1
		if after < n {
			m.prev[after] = best.start
		}
		m.pairs[0].rank = m.weigh(v, piece, best.start)
		if m.pairs[0].rank < 0 {
			heap.Pop(&m.pairs)
		} else {
			heap.Fix(&m.pairs, 0)
		}
		if before := m.prev[best.start]; before >= 0 {
			if rank := m.weigh(v, piece, before); rank >= 0 {
				heap.Push(&m.pairs, pair{rank, before})
			}
		}
	}
	for i := int32(0); i < n; i = m.next[i] {
		m.starts = append(m.starts, i)
	}
	return m.starts
}

// weigh notes and returns the rank of the pair that starts at start.
func (m *merger) weigh(v *vocabulary, piece []byte, start int32) int32 {
	m.live[start] = -1
	if second := m.next[start]; int(second) < len(piece) {
		m.live[start] = int32(v.rank(piece[start:m.next[second]]))
	}
	return m.live[start]
}

func (m *merger) reset(n int32) {
	m.next, m.prev, m.live = m.next[:0], m.prev[:0], m.live[:0]
	m.pairs, m.starts = m.pairs[:0], m.starts[:0]
	for i := range n {
		m.next = append(m.next, i+1)
		m.prev = append(m.prev, i-1)
		m.live = append(m.live, -1)
	}
}
