package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Meaning turns texts into vectors that point the same way when the texts mean the same. Implementations are safe
// for concurrent use, and end soon after ctx does.
type Meaning interface {
	// Documents returns one vector a text, all of one length. What it could do before an error it need not do again.
	Documents(ctx context.Context, texts []string) ([][]float32, error)
	// Query returns the vector of one question, of the same length.
	Query(ctx context.Context, text string) ([]float32, error)
}

// How meaning is asked for.
const (
	patience    = 500 * time.Millisecond // a search waits no longer for the vector of its query
	firstWait   = 200 * time.Millisecond // nor the first search for vectors that are kept on disk
	silence     = 15 * time.Second       // after a failure nothing is asked for so long
	learnAtOnce = 256                    // documents whose vectors are asked for together
	maxMeant    = 100                    // documents that join by meaning alone
	fusion      = 60                     // how little the first ranks stand above the next when ranks are fused
	meantAlone  = 5                      // standard deviations above the mean from which meaning alone is sure
)

// semantics holds the vectors of an index. They are learned beside the searches, which rank by words until then.
type semantics struct {
	meaning Meaning
	texts   func(from, to int) []string // of the documents
	n       int
	end     context.CancelFunc
	work    sync.WaitGroup
	first   sync.Once
	ready   chan struct{} // closed when all vectors are there
	fault   chan error    // the first failure

	mu      sync.Mutex
	err     error // of the last failure
	quiet   time.Time
	learned int

	dim     int
	vectors []int8 // n times dim, each vector of length 127
}

func newSemantics(m Meaning, docs []Doc) *semantics {
	ctx, cancel := context.WithCancel(context.Background())
	s := &semantics{meaning: m, n: len(docs), end: cancel, ready: make(chan struct{}), fault: make(chan error, 1)}
	s.texts = func(from, to int) []string {
		var texts []string
		for i := range docs[from:to] {
			texts = append(texts, describe(&docs[from+i]))
		}
		return texts
	}
	s.work.Go(func() { s.learn(ctx) })
	return s
}

// close ends what runs and waits for it.
func (s *semantics) close() {
	s.end()
	s.work.Wait()
}

// describe says in a sentence or two what a document is for.
func describe(d *Doc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", d.Server, strings.Join(nameParts(d.Name), " "))
	if d.Title != "" {
		b.WriteString(" (" + d.Title + ")")
	}
	b.WriteString(". " + clip(d.Description, 1500))
	for i, p := range d.Params {
		if i == 0 {
			b.WriteString(" Parameters: ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(p.Name)
		if i == 30 {
			break
		}
	}
	return b.String()
}

// learn gets the vectors of all documents, and tries again after a pause when that fails.
func (s *semantics) learn(ctx context.Context) {
	for from := 0; from < s.n; {
		to := min(from+learnAtOnce, s.n)
		vs, err := s.meaning.Documents(ctx, s.texts(from, to))
		if err == nil {
			err = s.keep(vs, to-from)
		}
		if err == nil {
			from = to
			s.mu.Lock()
			s.learned, s.err = from, nil
			s.mu.Unlock()
			continue
		}
		s.failed(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(silence):
		}
	}
	s.texts = nil // the documents' texts may go
	close(s.ready)
}

// keep stores vectors as directions in bytes: a quarter of the memory, and near enough to compare by.
func (s *semantics) keep(vs [][]float32, n int) error {
	if len(vs) != n {
		return fmt.Errorf("got %d vectors for %d texts", len(vs), n)
	}
	for _, v := range vs {
		if s.dim == 0 {
			s.dim = len(v)
			s.vectors = make([]int8, 0, s.n*s.dim)
		}
		if len(v) != s.dim || s.dim == 0 {
			return fmt.Errorf("got vectors of %d and %d numbers", s.dim, len(v))
		}
	}
	for _, v := range vs {
		s.vectors = appendDirection(s.vectors, v)
	}
	return nil
}

func appendDirection(to []int8, v []float32) []int8 {
	sum := 0.0
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	scale := 0.0
	if sum > 0 && !math.IsInf(sum, 0) && !math.IsNaN(sum) {
		scale = 127 / math.Sqrt(sum)
	}
	for _, f := range v {
		to = append(to, int8(math.Round(float64(f)*scale)))
	}
	return to
}

func (s *semantics) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.quiet = err, time.Now().Add(silence)
	select {
	case s.fault <- err:
	default:
	}
}

// asked is the vector of a query on its way.
type asked struct {
	vector chan []int8
	note   string // why there will be none
}

// ask asks for the vector of a query, unless it could not be of use now.
func (s *semantics) ask(ctx context.Context, text string) asked {
	s.first.Do(func() {
		select {
		case <-s.ready:
		case <-ctx.Done():
		case <-time.After(firstWait):
		}
	})
	s.mu.Lock()
	err, quiet, learned := s.err, s.quiet, s.learned
	s.mu.Unlock()
	select {
	case <-s.ready:
	default:
		if err != nil {
			return asked{note: "ranked by words alone: " + err.Error()}
		}
		return asked{note: fmt.Sprintf("ranked by words alone: vectors of %d of %d texts are there yet", learned, s.n)}
	}
	if time.Now().Before(quiet) {
		return asked{note: "ranked by words alone: " + err.Error()}
	}
	a := asked{vector: make(chan []int8, 1)}
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		v, err := s.meaning.Query(ctx, text)
		switch {
		case err != nil && ctx.Err() != nil:
			err = fmt.Errorf("no answer within %v", patience)
		case err == nil && len(v) != s.dim:
			err = fmt.Errorf("got a vector of %d numbers, not %d", len(v), s.dim)
		}
		if err != nil {
			s.failed(err)
			a.vector <- nil
			return
		}
		a.vector <- appendDirection(nil, v)
	})
	return a
}

// wait returns the vector, or why there is none.
func (s *semantics) wait(a asked) ([]int8, string) {
	if a.vector == nil {
		return nil, a.note
	}
	if v := <-a.vector; v != nil { // the asking ends within its patience
		return v, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil, fmt.Sprintf("ranked by words alone: %v", s.err)
}

// nearest lists the documents nearest to v, and whether the first stands out from all.
func (s *semantics) nearest(v []int8, keep func(d int32) bool) ([]int32, bool) {
	type near struct {
		doc int32
		dot int32
	}
	var all []near
	sum, squares := 0.0, 0.0
	for d := range s.n {
		if keep != nil && !keep(int32(d)) {
			continue
		}
		row := s.vectors[d*s.dim:][:s.dim]
		dot := int32(0)
		for i, x := range v {
			dot += int32(x) * int32(row[i])
		}
		all = append(all, near{int32(d), dot})
		sum += float64(dot)
		squares += float64(dot) * float64(dot)
	}
	slices.SortFunc(all, func(a, b near) int { return cmp.Or(cmp.Compare(b.dot, a.dot), cmp.Compare(a.doc, b.doc)) })
	n := float64(len(all))
	sure := n > 0 && float64(all[0].dot) > sum/n+meantAlone*math.Sqrt(max(0, squares/n-sum/n*sum/n))
	var out []int32
	for _, a := range all[:min(len(all), maxMeant)] {
		out = append(out, a.doc)
	}
	return out, sure
}

// fuse joins the ranks by words with those by meaning. Names asked for exactly stay first; the scores keep their
// order by words to break ties.
func (x *Index) fuse(top []candidate, meant []int32) []candidate {
	places := make(map[int32]int, len(meant))
	for i, d := range meant {
		places[d] = i + 1
	}
	share := func(place int) float32 { return float32(fusion) / float32(2*(fusion+place)) }
	for i := range top {
		c := &top[i]
		tier := float32(int(c.score/10) * 10)
		c.score = tier + share(i+1)
		if p := places[c.doc]; p > 0 {
			c.score += share(p)
			delete(places, c.doc)
		}
	}
	for d, p := range places {
		top = append(top, candidate{doc: d, score: share(p)})
	}
	slices.SortFunc(top, x.byScore)
	return top[:min(len(top), maxHits)]
}
