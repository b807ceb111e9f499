package search

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the ranks in testdata")

const ranksFile = "testdata/ranks.txt"

// lines reads a file of testdata without its comments.
func lines(t testing.TB, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(data)), "\n"), func(l string) bool { return strings.HasPrefix(l, "#") })
}

func ownCatalog(t testing.TB) []Doc {
	t.Helper()
	var docs []Doc
	for _, l := range lines(t, "testdata/catalog.txt") {
		part := strings.SplitN(l, "|", 3)
		id := strings.TrimSpace(part[0])
		server, name, _ := strings.Cut(id, "/")
		d := Doc{ID: id, Kind: "tool", Server: server, Name: name, Description: strings.TrimSpace(part[1])}
		for p := range strings.SplitSeq(part[2], ";") {
			if p = strings.TrimSpace(p); p != "" {
				d.Params = append(d.Params, ownParam(p))
			}
		}
		docs = append(docs, d)
	}
	return docs
}

// ownParam reads "name (description) [enum,enum]".
func ownParam(text string) Param {
	name, rest, _ := strings.Cut(text, " (")
	p := Param{Name: name}
	p.Description, rest, _ = strings.Cut(rest, ")")
	if rest = strings.Trim(rest, " []"); rest != "" {
		p.Enum = strings.Split(rest, ",")
	}
	return p
}

// TestRanks holds the place of each wanted entry, so that a change of the
// ranking is seen in review.
func TestRanks(t *testing.T) {
	x := mustBuild(t, ownCatalog(t))
	var b strings.Builder
	first, five, sum, n := 0, 0, 0.0, 0
	b.WriteString("# rank, confident, query → first hit if it is another\n")
	for _, l := range lines(t, "testdata/queries.txt") {
		query, wanted, _ := strings.Cut(l, " | ")
		r, err := x.Search(context.Background(), Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		rank := 1 + slices.IndexFunc(r.Hits, func(h Hit) bool { return slices.Contains(strings.Split(wanted, ", "), h.ID) })
		n++
		if rank > 0 {
			sum += 1 / float64(rank)
		}
		if rank == 1 {
			first++
		}
		if rank > 0 && rank <= 5 {
			five++
		}
		fmt.Fprintf(&b, "%d %v %s", rank, r.Confident, query)
		if rank != 1 && len(r.Hits) > 0 {
			b.WriteString(" → " + r.Hits[0].ID)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "# %d queries: first %d, in five %d, MRR %.3f\n", n, first, five, sum/float64(n))
	if *update {
		if err := os.WriteFile(ranksFile, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(ranksFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("ranks changed; if for the better, run with -update (-want +got):\n%s", diff)
	}
}
