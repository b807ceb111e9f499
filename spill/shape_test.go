package spill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
)

func TestLongShape(t *testing.T) {
	s := newShelf(t, Options{})
	var list []string
	for i := range 100 {
		note := ""
		if i%4 == 0 {
			note = `,"note":"n` + fmt.Sprint(i) + `"`
		}
		list = append(list, fmt.Sprintf(`{"id":%d,"price":%d.50,"status":%q,"day":"2026-01-%02d","at":"2026-01-02T10:00:00Z","ok":true,"tags":[%s]%s}`,
			i, i, []string{"open", "paid"}[i%2], 1+i%28, strings.Repeat(`"a",`, i%3)+`"b"`, note))
	}
	a := put(t, s, text("["+strings.Join(list, ",")+"]"))
	want := `[100]{
  id:int 0…99,
  price:num 0.50…99.50,
  status:"open"|"paid",
  day:date 2026-01-01…2026-01-28,
  at:datetime,
  ok:bool,
  tags:[1-3]("b"|"a"),
  note?25%:str}`
	got, err := s.Read(t.Context(), a, Data, Query{Op: "shape"})
	if err != nil || got.Text != want {
		t.Errorf("shape = %v\n%s\nwant\n%s", err, got.Text, want)
	}
	if got, err := s.Read(t.Context(), a, Data, Query{Op: "shape", Path: "#.status"}); err != nil || got.Text != `[100]("open"|"paid")` {
		t.Errorf("shape of path = %s, %v", got.Text, err)
	}
	if !strings.Contains(a.Shape, `"open"|"paid"`) {
		t.Errorf("short shape %s", a.Shape)
	}
}

func TestShapeOfDegenerateData(t *testing.T) {
	s := newShelf(t, Options{})
	for name, raw := range degenerate() {
		a := put(t, s, raw)
		if len(a.Shape) > shape.MaxShort {
			t.Errorf("%s: shape of %d bytes", name, len(a.Shape))
		}
		got, err := s.Read(t.Context(), a, Data, Query{Op: "shape", Budget: 5000})
		if err != nil && a.Kind != shape.Blob || len(got.Text) > 5000 {
			t.Errorf("%s: shape of %d bytes, %v", name, len(got.Text), err)
		}
	}
}

func TestShapeSaysItIsSampled(t *testing.T) {
	s := newShelf(t, Options{})
	if a := put(t, s, text(records(5000))); !strings.HasSuffix(a.Shape, "(sampled)") {
		t.Errorf("shape %s", a.Shape)
	}
}

func TestSample(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, `{"content":[],"structuredContent":`+records(1000)+`}`)
	got, err := s.Read(t.Context(), a, Data, Query{Op: "sample", Lines: 3})
	want := `1: {"id":0,"name":"user 0","price":1.10,"big":12345678901234567890}
500: {"id":499,"name":"user 499","price":1.10,"big":12345678901234567890}
1000: {"id":999,"name":"user 999","price":1.10,"big":12345678901234567890}`
	if err != nil || got.Text != want || got.Lines != 3 {
		t.Errorf("sample = %s, %v", got.Text, err)
	}
	for _, tt := range []struct {
		name, raw string
		q         Query
		want      string
	}{
		{"default", text("[1,2,3]"), Query{Op: "sample"}, "1: 1\n2: 2\n3: 3"},
		{"text", text("a\nb\nc\nd\ne"), Query{Op: "sample", Lines: 3}, "1: a\n3: c\n5: e"},
		{"one", text("a\nb"), Query{Op: "sample", Lines: 1}, "1: a"},
		{"path", text(`{"x":[{"a":1},{"a":2}]}`), Query{Op: "sample", Path: "x"}, "1: {\"a\":1}\n2: {\"a\":2}"},
		{"wide records", text(`[{"a":"` + strings.Repeat("x", 40000) + `","b":1},{"a":"y"}]`), Query{Op: "sample", Lines: 5}, "1: {\"a\":\"" + strings.Repeat("x", 294) + "…[+39714 bytes]\n2: {\"a\":\"y\"}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Read(t.Context(), put(t, s, tt.raw), Data, tt.q)
			if err != nil || got.Text != tt.want {
				t.Errorf("sample = %s, %v, want %s", got.Text, err, tt.want)
			}
		})
	}
}
