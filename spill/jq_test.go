package spill

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/spill/jq"
)

func TestJQ(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, `{"content":[],"structuredContent":`+records(5)+`}`)
	b := put(t, s, text(`[{"id":1,"team":"red"},{"id":3,"team":"blue"}]`))
	plain := put(t, s, text("x=1\ny=2"))
	odd := put(t, s, text(`{"z":1.10,"y":1e2,"x":-0,"w":12345678901234567890123,"v":0.1,"u":1.0E+2,"t":100000000000000000000.5,"s":[0.000001,1234.5678,-7.25]}`))
	tests := []struct {
		name  string
		items []Item
		w     Want
		want  string
	}{
		{"one value", []Item{{a, Data}}, Want{JQ: ".[1].name"}, `"user 1"`},
		{"several", []Item{{a, Data}}, Want{JQ: ".[:2][].id"}, `[0,1]`},
		{"one list", []Item{{a, Data}}, Want{JQ: "[.[].id]"}, `[0,1,2,3,4]`},
		{"null", []Item{{a, Data}}, Want{JQ: ".[0].none"}, `null`},
		{"big numbers and order stay", []Item{{a, Data}}, Want{JQ: ".[3]"}, `{"id":3,"name":"user 3","price":1.10,"big":12345678901234567890}`},
		{"big numbers are computed exactly", []Item{{a, Data}}, Want{JQ: ".[3].big + 1"}, `12345678901234567891`},
		{"spelling", []Item{{odd, Data}}, Want{JQ: "."}, `{"z":1.10,"y":1e2,"x":-0,"w":12345678901234567890123,"v":0.1,"u":1.0E+2,"t":100000000000000000000.5,"s":[0.000001,1234.5678,-7.25]}`},
		{"new keys come last", []Item{{odd, Data}}, Want{JQ: "{b:1,v,a:2}"}, `{"v":0.1,"a":2,"b":1}`},
		{"path first", []Item{{a, Data}}, Want{Path: "#.id", JQ: "add"}, `10`},
		{"text", []Item{{plain, Data}}, Want{JQ: `split("\n") | map(split("=")[1] | tonumber) | add`}, `3`},
		{"joined", []Item{{a, Data}, {b, Data}}, Want{JQ: `.[0] as $users | .[1][] | . as $t | {name: ($users[] | select(.id == $t.id) | .name), team}`},
			`[{"name":"user 1","team":"red"},{"name":"user 3","team":"blue"}]`},
		{"joined path", []Item{{a, Data}, {b, Data}}, Want{Path: "1.0.team"}, `"red"`},
		{"joined path into each", []Item{{b, Data}, {b, Data}}, Want{Path: "1"}, `[{"id":1,"team":"red"},{"id":3,"team":"blue"}]`},
		{"path of each", []Item{{odd, Data}, {odd, Data}}, Want{Path: "v"}, `[0.1,0.1]`},
		{"raw", []Item{{b, Raw}}, Want{JQ: ".content | length"}, `1`},
		{"group", []Item{{a, Data}}, Want{JQ: `group_by(.id % 2) | map({odd: (.[0].id % 2 == 1), n: length})`}, `[{"n":3,"odd":false},{"n":2,"odd":true}]`},
		{"quotes", []Item{{plain, Data}}, Want{JQ: `{"a\"b": "\u0001\\"}`}, `{"a\"b":"\u0001\\"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Extract(t.Context(), tt.items, tt.w)
			if err != nil || string(got) != tt.want {
				t.Errorf("Extract = %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	got, err := s.Read(t.Context(), a, Data, Query{Op: "head", Lines: 2, JQ: "map({id})"})
	if want := "[{\"id\":0},\n{\"id\":1},"; err != nil || got.Text != want || got.TotalLines != 5 {
		t.Errorf("head of jq = %q, %v, want %q", got.Text, err, want)
	}
	if got, err := s.Read(t.Context(), a, Data, Query{Op: "jq", JQ: ".[0].name"}); err != nil || got.Text != "user 0" || got.Op != "read" {
		t.Errorf("jq = %+v, %v, want the bare text", got, err)
	}
	if got, err := s.ReadAll(t.Context(), []Item{{a, Data}, {b, Data}}, Query{}); err != nil || !strings.Contains(got.Text, b.Handle) {
		t.Errorf("stat of two = %+v, %v", got, err)
	}
}

// orders makes a list of records like those of a shop, of about size bytes.
func orders(size int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	out := []byte{'['}
	for i := 0; len(out) < size; i++ {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"id":%d,"name":"record-%d","email":"user%d@example.com","status":%q,"country":%q,"amount":%.2f,"quantity":%d,"score":%.3f,"tags":["a","%c"],"created":"2026-%02d-%02dT10:00:00Z"}`,
			i, i, r.IntN(1e6), []string{"open", "paid", "refunded", "shipped"}[r.IntN(4)], []string{"DE", "US", "FR", "JP", "BR"}[r.IntN(5)],
			r.Float64()*1000, r.IntN(50), r.Float64()*100, 'a'+rune(r.IntN(26)), 1+r.IntN(12), 1+r.IntN(28))
	}
	return append(out, ']')
}

func BenchmarkJQGroup(b *testing.B) {
	data := string(orders(100_000_000))
	for b.Loop() {
		if _, err := jq.Run(b.Context(), "group_by(.country) | map({country: .[0].country, n: length, sum: (map(.amount) | add)})", func() (string, error) { return data, nil }, jq.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
