package search

import "context"

// errand is the way of one query through the ranking.
type errand struct {
	x       *Index
	ctx     context.Context
	keep    func(string) bool
	whole   bool                // the query is not cut into clauses
	union   map[int32]bool      // documents that any of several intents found; nil for one
	holders map[string][]holder // of terms looked up together
	lists   map[string][]listed // postings read before; nil: none are remembered
	most    int                 // hits wanted
}

// rank ranks the documents for one intent: by words, then so that each clause is heard, then by meaning too.
func (e *errand) rank(text string, meant asked) (ranked, error) {
	var parts []string
	if !e.whole && e.union == nil {
		if parts = clauses(text); len(parts) > 1 { // they ask for what the whole asks for
			e.lists = map[string][]listed{}
		}
	}
	r, err := e.words(text)
	if err == nil && len(parts) > 1 {
		r, err = e.cover(r, parts)
	}
	if err == nil && e.x.meaning != nil {
		e.mean(&r, meant)
	}
	return r, err
}

// words ranks by words alone, and adds the documents that hold one of them to the union.
func (e *errand) words(text string) (ranked, error) {
	x := e.x
	l := &lookup{errand: e, stems: newStemmerOf(&x.tune)}
	slots, err := l.slots(text)
	if err != nil {
		return ranked{}, err
	}
	b := x.board()
	defer x.boards.Put(b)
	defer b.clear()
	for i := range slots {
		if err := l.score(b, &slots[i]); err != nil {
			return ranked{}, err
		}
	}
	if err := l.exact(b, text); err != nil {
		return ranked{}, err
	}
	x.favour(b, slots)
	var r ranked
	r.top, r.total = b.best(e)
	r.confident = x.confident(r.top, slots, l.vague)
	return r, nil
}

// cover ranks each clause for itself and lets its best be heard.
func (e *errand) cover(whole ranked, parts []string) (ranked, error) {
	clause := *e
	clause.most = 5 // as many as confidence looks at
	heard := make([]ranked, len(parts))
	for i, p := range parts {
		var err error
		if heard[i], err = clause.words(p); err != nil {
			return whole, err
		}
	}
	return cover(whole, heard), nil
}

// mean lets the documents nearest in meaning join, or says in r why not.
func (e *errand) mean(r *ranked, meant asked) {
	v, note := e.x.meaning.wait(meant)
	if v == nil {
		r.note = note
		return
	}
	var seen func(int32) bool
	if e.keep != nil {
		seen = func(d int32) bool { return e.keep(e.x.docs[d].id) }
	}
	near, sure := e.x.meaning.nearest(v, seen)
	r.confident = r.confident || sure
	before := len(r.top)
	r.top = e.x.fuse(r.top, near)
	r.total += len(r.top) - before
}
