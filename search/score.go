package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	index "github.com/blevesearch/bleve_index_api"
)

// board is where one search adds up its scores, one cell a document. Boards
// are reused; touched says which cells to clear.
type board struct {
	cells   []cell
	touched []int32
	slot    []int32    // documents the current slot has touched
	total   float32    // the weight of all slots
	keys    []uint64   // scratch of best
	both    []evidence // of documents that hold some of the terms looked up together
}

type cell struct {
	score   float32 // evidence of the slots so far
	cover   float32 // weight of the slots found
	name    float32 // weight of the name's words asked for
	best    float32 // the current slot's best evidence
	quality float32 // and its share of coverage
	named   float32 // and what of it is the name's
	fields  uint16
	tier    uint8 // how exactly the name was asked for
	seen    bool
}

func newBoard(n int) *board { return &board{cells: make([]cell, n)} }

func (x *Index) board() *board { return x.boards.Get().(*board) }

func (b *board) clear() {
	for _, d := range b.touched {
		b.cells[d] = cell{}
	}
	b.touched, b.slot, b.total = b.touched[:0], b.slot[:0], 0
}

func (b *board) touch(d int32) *cell {
	c := &b.cells[d]
	if !c.seen {
		c.seen = true
		b.touched = append(b.touched, d)
	}
	return c
}

// listed is one posting: a document and its packed evidence.
type listed struct {
	doc  int32
	freq uint32
}

// evidence calls visit for each document that holds term. What a sentence and its clauses both ask for is read once.
func (l *lookup) evidence(term string, visit func(d int32, e evidence)) error {
	if l.lists == nil {
		return l.postings(termField, term, true, func(d int32, freq uint64) { visit(d, unpack(freq)) })
	}
	list, ok := l.lists[term]
	if !ok {
		list = make([]listed, 0, l.x.count(term))
		err := l.postings(termField, term, true, func(d int32, freq uint64) { list = append(list, listed{d, uint32(freq)}) })
		if err != nil {
			return err
		}
		l.lists[term] = list
	}
	for _, p := range list {
		visit(p.doc, unpack(uint64(p.freq)))
	}
	return nil
}

// postings calls visit for each document that holds term.
func (l *lookup) postings(field, term string, freq bool, visit func(d int32, freq uint64)) error {
	r, err := l.x.reader.TermFieldReader(l.ctx, []byte(term), field, freq, false, false)
	if err != nil {
		return fmt.Errorf("read term: %w", err)
	}
	defer r.Close()
	var p index.TermFieldDoc
	for {
		tfd, err := r.Next(&p)
		if err != nil {
			return fmt.Errorf("read term: %w", err)
		}
		if tfd == nil {
			return nil
		}
		visit(l.x.ord[tfd.ID.Value()], tfd.Freq)
	}
}

// score adds one slot to the board.
func (l *lookup) score(b *board, s *slot) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	nearest, holders := float32(0), 0
	own := l.x.idf(l.x.count(s.alts[0].term))
	for _, a := range s.alts {
		if a.like != itself && own > 0 { // a common word says less than the rare one it stands for
			if l.least(a) > l.x.commonplace() {
				continue
			}
			if r := l.x.idf(l.least(a)) / own; r < 1 {
				a.weight *= sqrt(r)
			}
		}
		n, err := l.alternative(b, a)
		if err != nil {
			return err
		}
		switch { // how common a word is, the nearest of what stands for it tells
		case n == 0 || a.weight < nearest-.06:
		case a.weight > nearest+.06:
			nearest, holders = a.weight, n
		default:
			holders = max(holders, n)
		}
	}
	if holders == 0 {
		holders = len(b.slot)
	}
	w := s.weight * l.x.idf(holders)
	for _, d := range b.slot {
		c := &b.cells[d]
		c.score += w * c.best
		c.cover += w * c.quality
		c.name += c.named
		c.best, c.quality, c.named = 0, 0, 0
	}
	b.slot = b.slot[:0]
	b.total += w
	return nil
}

// alternative lets a document's evidence for a count for the current slot if it is the best; it returns how many
// documents have any.
func (l *lookup) alternative(b *board, a alt) (int, error) {
	t := &l.x.tune
	n := l.least(a)
	if n == 0 {
		return 0, nil
	}
	idf := l.x.idf(l.x.count(a.term))
	for _, m := range a.more {
		idf += l.x.idf(l.x.count(m))
	}
	visit := func(d int32, e evidence) {
		c := b.touch(d)
		if c.best == 0 {
			b.slot = append(b.slot, d)
		}
		c.best = max(c.best, a.weight*e.weight/(e.weight+t.saturation))
		q := a.weight
		if e.mask&strong == 0 {
			q *= t.weak
		}
		c.quality = max(c.quality, q)
		if e.mask&inName != 0 {
			c.named = max(c.named, a.weight*idf)
		}
		c.fields |= e.mask
	}
	if len(a.more) > 0 {
		return l.all(b, a, visit)
	}
	return n, l.evidence(a.term, visit)
}

// commonplace is how many documents make a synonym say nothing.
func (x *Index) commonplace() int { return 1000 + len(x.docs)/20 }

// least is how many documents hold the rarest term of a.
func (l *lookup) least(a alt) int {
	n := l.x.count(a.term)
	for _, m := range a.more {
		n = min(n, l.x.count(m))
	}
	return n
}

func sqrt(f float32) float32 { return float32(math.Sqrt(float64(f))) }

// holder is a document that holds every term of an alternative, with the least of the evidence.
type holder struct {
	doc int32
	ev  evidence
}

// all visits the holders of a. The words of one phrase ask for the same holders, so they are remembered.
func (l *lookup) all(b *board, a alt, visit func(int32, evidence)) (int, error) {
	key := a.term + " " + strings.Join(a.more, " ")
	found, ok := l.holders[key]
	if !ok {
		terms := append([]string{a.term}, a.more...)
		slices.SortStableFunc(terms, func(s, t string) int { return cmp.Compare(l.x.count(s), l.x.count(t)) })
		var err error
		if found, err = l.intersect(b, terms); err != nil {
			return 0, err
		}
		l.holders[key] = found
	}
	for _, h := range found {
		visit(h.doc, h.ev)
	}
	return len(found), nil
}

// intersect finds the holders of terms, the rarest of which comes first.
func (l *lookup) intersect(b *board, terms []string) ([]holder, error) {
	if b.both == nil {
		b.both = make([]evidence, len(b.cells))
	}
	var first []int32
	defer func() {
		for _, d := range first {
			b.both[d] = evidence{}
		}
	}()
	var found []holder
	for i, t := range terms {
		err := l.evidence(t, func(d int32, e evidence) {
			if i == 0 {
				first = append(first, d)
			} else {
				was := b.both[d]
				if was.rounds != uint16(i) {
					return
				}
				e.weight, e.mask = min(e.weight, was.weight), e.mask&was.mask
			}
			e.rounds = uint16(i) + 1
			if b.both[d] = e; i == len(terms)-1 {
				found = append(found, holder{d, e})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// exact marks the documents whose name the query is: 3 letter by letter, 2 in
// another spelling, 1 together with the server's name.
func (l *lookup) exact(b *board, text string) error {
	text = strings.TrimSpace(text)
	key := normal(text)
	if key == "" {
		key = text
	}
	if key == "" {
		return nil
	}
	return l.postings(exactField, key, false, func(d int32, _ uint64) {
		c := b.touch(d)
		c.fields |= inName
		switch name := l.x.docs[d].name; {
		case name == text:
			c.tier = 3
		case name == key || normal(name) == key:
			c.tier = 2
		default:
			c.tier = 1
			c.fields |= inServer
		}
	})
}

// favour turns sums into final scores: coverage of the query, share of the
// name that was asked for, a server named, an exact name above all.
func (x *Index) favour(b *board, slots []slot) {
	t := &x.tune
	named := x.namedServers(slots)
	total := max(b.total, 1e-6)
	for _, d := range b.touched {
		c := &b.cells[d]
		cover := c.cover / total
		score := c.score / total * (1 - t.coverage + t.coverage*cover)
		if sum := x.docs[d].nameSum; sum > 0 {
			score += t.nameShare * cover * min(1, c.name/sum)
		}
		if named[x.docs[d].server] {
			score *= t.serverNamed
		}
		c.score = score + 10*float32(c.tier)
		c.cover = cover
	}
}

// namedServers finds the servers whose name the query says; of two such names
// the one that holds the other counts alone.
func (x *Index) namedServers(slots []slot) map[int32]bool {
	var said []string
	for _, s := range slots {
		said = append(said, s.word)
	}
	var found []int32
	for i, s := range x.servers {
		if len(s.words) > 0 && subset(s.words, said) {
			found = append(found, int32(i))
		}
	}
	named := map[int32]bool{}
	for _, i := range found {
		mine := x.servers[i].words
		inner := slices.ContainsFunc(found, func(j int32) bool {
			return len(x.servers[j].words) > len(mine) && subset(mine, x.servers[j].words)
		})
		if !inner {
			named[i] = true
		}
	}
	return named
}

func subset(words, of []string) bool {
	for _, w := range words {
		if !slices.Contains(of, w) {
			return false
		}
	}
	return true
}

// confident says whether the best documents fit: the name is exact; or one of
// the first holds much of what the query's words weigh, where a word the
// catalog lacks weighs as much as the rarest it has, and a long query, full of
// values for arguments, asks for a smaller share; or the query says a whole
// name of some weight. A query of stop words alone can only be a name.
func (x *Index) confident(top []candidate, slots []slot, vague bool) bool {
	whole := x.tune.sureName * x.idf(1)
	need := x.tune.sure / (1 + x.tune.surePerWord*float32(max(0, len(slots)-5)))
	for _, c := range top[:min(len(top), 5)] {
		sum := x.docs[c.doc].nameSum
		switch {
		case c.score >= 10:
			return true
		case vague:
			return false
		case c.cover >= need, sum >= whole && c.name >= .9*sum:
			return true
		}
	}
	return false
}
