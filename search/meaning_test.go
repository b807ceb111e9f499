package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// trades knows two things to mean: money and weather.
type trades struct {
	mu    sync.Mutex
	asked int
	fail  error
	slow  time.Duration
}

func (m *trades) vector(text string) []float32 {
	v := []float32{.1, .1}
	if strings.Contains(text, "refund") || strings.Contains(text, "reimburse") {
		v[0] = 1
	}
	if strings.Contains(text, "forecast") || strings.Contains(text, "umbrella") {
		v[1] = 1
	}
	return v
}

func (m *trades) wait(ctx context.Context) error {
	m.mu.Lock()
	m.asked++
	slow, fail := m.slow, m.fail
	m.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(slow):
		return fail
	}
}

func (m *trades) set(fail error, slow time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail, m.slow = fail, slow
}

func (m *trades) Documents(ctx context.Context, texts []string) ([][]float32, error) {
	if err := m.wait(ctx); err != nil {
		return nil, err
	}
	var out [][]float32
	for _, t := range texts {
		out = append(out, m.vector(t))
	}
	return out, nil
}

func (m *trades) Query(ctx context.Context, text string) ([]float32, error) {
	if err := m.wait(ctx); err != nil {
		return nil, err
	}
	return m.vector(text), nil
}

// meant runs a test in fake time. Only what asks for meaning lives in it: bleve's goroutines are older.
func meant(t *testing.T, m *trades, test func(t *testing.T, x *Index)) {
	t.Helper()
	docs := []Doc{
		{ID: "bank/create_refund", Server: "bank", Name: "create_refund", Description: "Make a refund."},
		{ID: "sky/get_forecast", Server: "sky", Name: "get_forecast", Description: "The forecast for a day."},
		{ID: "sky/umbrella", Server: "sky", Name: "umbrella"},
	}
	x := mustBuild(t, docs)
	synctest.Test(t, func(t *testing.T) {
		x.meaning = newSemantics(m, docs)
		defer x.meaning.close()
		test(t, x)
	})
	x.meaning = nil
}

func TestMeaning(t *testing.T) {
	meant(t, &trades{}, func(t *testing.T, x *Index) {
		if err := x.Learned(context.Background()); err != nil {
			t.Fatal(err)
		}
		r := find(t, x, "reimburse zyx")
		if len(r.Hits) == 0 || r.Hits[0].ID != "bank/create_refund" || r.Note != "" || r.Total != 3 {
			t.Errorf("got %+v", r)
		}
		if r := find(t, x, "umbrella"); r.Hits[0].ID != "sky/umbrella" {
			t.Errorf("an exact name is not first: %v", ids(r))
		}
		kept, err := x.Search(context.Background(), Query{Text: "reimburse", Keep: func(id string) bool { return strings.HasPrefix(id, "sky/") }})
		if err != nil || slices.Contains(ids(kept), "bank/create_refund") {
			t.Errorf("hidden documents are found: %v, %v", ids(kept), err)
		}
	})
}

// An endpoint that is slow or down costs a search little, and the answer says so.
func TestMeaningFails(t *testing.T) {
	m := &trades{}
	meant(t, m, func(t *testing.T, x *Index) {
		if err := x.Learned(context.Background()); err != nil {
			t.Fatal(err)
		}
		m.set(nil, time.Hour)
		start := time.Now()
		r := find(t, x, "create refund")
		if took := time.Since(start); took > patience || !strings.Contains(r.Note, "words alone") || r.Hits[0].ID != "bank/create_refund" {
			t.Errorf("slow: %v, %+v", took, r)
		}
		start = time.Now()
		if r := find(t, x, "create refund"); time.Since(start) > 0 || r.Note == "" {
			t.Errorf("the next search waits %v, note %q", time.Since(start), r.Note)
		}
		m.set(nil, 0)
		time.Sleep(silence)
		if r := find(t, x, "reimburse"); r.Note != "" || len(r.Hits) == 0 {
			t.Errorf("it is asked again after a while: %+v", r)
		}
	})
}

func TestLearning(t *testing.T) {
	m := &trades{fail: errors.New("no route")}
	meant(t, m, func(t *testing.T, x *Index) {
		if err := x.Learned(context.Background()); err == nil || err.Error() != "no route" {
			t.Errorf("got %v", err)
		}
		if r := find(t, x, "create refund"); !strings.Contains(r.Note, "no route") || len(r.Hits) == 0 {
			t.Errorf("got %+v", r)
		}
		m.set(nil, time.Second)
		time.Sleep(silence / 2)
		time.Sleep(silence)
		if r := find(t, x, "create refund"); strings.Contains(r.Note, "no route") {
			t.Errorf("got %+v", r)
		}
	})
	meant(t, &trades{slow: time.Hour}, func(t *testing.T, x *Index) {
		if r := find(t, x, "create refund"); !strings.Contains(r.Note, "0 of 3") {
			t.Errorf("got note %q", r.Note)
		}
	})
}
