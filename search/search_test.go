package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func ids(r Result) []string {
	var ids []string
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func find(t testing.TB, x *Index, text string) Result {
	t.Helper()
	r, err := x.Search(context.Background(), Query{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSplit(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"snake", "get_user_id", "get user id"},
		{"kebab", "list-feature-flags", "list feature flags"},
		{"dots", "math.factorial", "math factorial"},
		{"camel", "listFeatureFlags", "list+feature+flags"},
		{"pascal", "BrowserNavigateBack", "browser+navigate+back"},
		{"acronym first", "HTTPServer", "http+server"},
		{"acronym inside", "parseJSONBody", "parse+json+body"},
		{"acronym last", "getURL", "get+url"},
		{"acronym plural", "listURLs", "list+urls"},
		{"digits", "page2text", "page+2+text"},
		{"digits last", "oauth2", "oauth+2"},
		{"short digits stay", "k8s s3 v2 d1", "k8s s3 v2 d1"},
		{"version", "TwilioApiV2010--CreateCall", "twilio+api+v2010 create+call"},
		{"accents", "Électronique Straße", "electronique straße"},
		{"full width", "ＡＢＣ", "abc"},
		{"ligature", "ﬁle", "file"},
		{"chinese", "删除文件", "删除 除文 文件"},
		{"chinese one", "查", "查"},
		{"mixed", "发送email消息", "发送 email 消息"},
		{"cyrillic", "удалитьФайл", "удалить+файл"},
		{"hindi keeps its vowels", "फ़ाइल हटाएं", "फ़ाइल हटाएं"},
		{"punctuation", "  --!!..  ", ""},
		{"emoji", "🚀 launch", "launch"},
		{"bad bytes", "a\xffb", "a b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, r := range split(tc.text) {
				got = append(got, strings.Join(r.parts, "+"))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestFirstSentence(t *testing.T) {
	for _, tc := range []struct{ name, text, first, rest string }{
		{"one", "Send an email", "Send an email", ""},
		{"two", "Send an email to people. With files.", "Send an email to people", " With files."},
		{"lines", "Send an email\nWith files.", "Send an email", "\nWith files."},
		{"abbreviation early", "E.g. a file. And more.", "E.g. a file. And more.", ""},
		{"version number", "Calls version 2.1 of the service", "Calls version 2.1 of the service", ""},
		{"chinese", "删除文件。不可恢复。", "删除文件", "。不可恢复。"},
		{"empty", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, rest := firstSentence(tc.text)
			if first != tc.first || rest != tc.rest {
				t.Errorf("got %q and %q, want %q and %q", first, rest, tc.first, tc.rest)
			}
		})
	}
}

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"file", "file", 0}, {"fiel", "file", 1}, {"fil", "file", 1}, {"filee", "file", 1}, {"fole", "file", 1},
		{"fucntion", "function", 1}, {"scrennshto", "screenshot", 2}, {"abc", "xyz", 3}, {"", "ab", 2},
	} {
		if got := edits(tc.a, tc.b, 2); got != tc.want {
			t.Errorf("edits %s %s: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// However many entries speak of the words, the one that has the name is first.
func TestExactNameFirst(t *testing.T) {
	var docs []Doc
	for i := range 2000 {
		docs = append(docs, Doc{
			ID: fmt.Sprintf("a%04d", i), Server: "loud", Name: fmt.Sprintf("query_logs_query_%d", i), Title: "query logs query logs",
			Description: "query logs, query logs, query logs.", Keywords: []string{"query", "logs"},
		})
	}
	docs = append(docs,
		Doc{ID: "z1", Server: "quiet", Name: "query_logs", Description: "Nothing to see."},
		Doc{ID: "z2", Server: "other", Name: "queryLogs", Description: "Nothing to see."},
		Doc{ID: "z3", Server: "odd", Name: "**"},
		Doc{ID: "z4", Server: "one", Name: "query"},
	)
	x := mustBuild(t, docs)
	for _, tc := range []struct {
		name, query string
		want        []string
	}{
		{"letter by letter", "query_logs", []string{"z1", "z2"}},
		{"the other letter by letter", "queryLogs", []string{"z2", "z1"}},
		{"another spelling", "Query  logs", []string{"z2", "z1"}},
		{"with its server", "quiet/query_logs", []string{"z1"}},
		{"with its server, joined", "other__queryLogs", []string{"z2"}},
		{"one word", "query", []string{"z4"}},
		{"no letters", "**", []string{"z3"}},
		{"spaces around", "  query_logs\n", []string{"z1", "z2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := find(t, x, tc.query)
			got := ids(r)
			if diff := cmp.Diff(tc.want, got[:min(len(got), len(tc.want))]); diff != "" || !r.Confident {
				t.Errorf("confident %v, -want +got\n%s", r.Confident, diff)
			}
		})
	}
}

func TestTotalAndOrder(t *testing.T) {
	var docs []Doc
	for i := range 2500 {
		docs = append(docs, Doc{ID: fmt.Sprintf("id%04d", (i*7)%2500), Server: "s", Name: "same_thing", Description: "The same everywhere."})
	}
	docs = append(docs, Doc{ID: "other", Server: "s", Name: "unlike"})
	x := mustBuild(t, docs)
	r := find(t, x, "same thing everywhere")
	if r.Total != 2500 || len(r.Hits) != 1000 {
		t.Errorf("total %d and %d hits, want 2500 and 1000", r.Total, len(r.Hits))
	}
	if got := ids(r); !slices.IsSorted(got) {
		t.Error("equal documents are not in the order of their ids")
	}
	if r := find(t, x, "unlike"); r.Total != 1 {
		t.Errorf("total %d, want 1", r.Total)
	}
	kept, err := x.Search(context.Background(), Query{Text: "same thing", Keep: func(id string) bool { return id < "id0010" }})
	if err != nil || kept.Total != 10 || len(kept.Hits) != 10 {
		t.Errorf("kept %d of %d, %v, want 10", len(kept.Hits), kept.Total, err)
	}
}

// Two builds of the same documents, in whatever order, rank alike.
func TestDeterministic(t *testing.T) {
	docs := ownCatalog(t)
	x := mustBuild(t, docs)
	slices.Reverse(docs)
	y := mustBuild(t, docs)
	for _, l := range lines(t, "testdata/queries.txt") {
		q, _, _ := strings.Cut(l, " | ")
		if diff := cmp.Diff(find(t, x, q), find(t, y, q)); diff != "" {
			t.Errorf("%s: %s", q, diff)
		}
	}
}

func TestFields(t *testing.T) {
	x := mustBuild(t, []Doc{{
		ID: "1", Server: "alpha", Name: "bravo", Title: "Charlie", Description: "Delta comes first. Echo follows.",
		Params: []Param{{"foxtrot", "golf", []string{"hotel"}}}, Hints: []string{"india"}, Keywords: []string{"juliett"},
	}})
	for word, want := range map[string]string{
		"alpha": "server", "bravo": "name", "charlie": "title", "delta": "description", "echo": "description",
		"foxtrot": "parameter", "golf": "parameterDescription", "hotel": "enum", "india": "hint", "juliett": "keyword",
		"bravo golf alpha": "name server parameterDescription",
	} {
		r := find(t, x, word)
		if len(r.Hits) != 1 || strings.Join(r.Hits[0].Fields, " ") != want {
			t.Errorf("%s: got %+v, want it in %s", word, r.Hits, want)
		}
	}
}

func TestNotConfident(t *testing.T) {
	x := mustBuild(t, ownCatalog(t))
	for _, tc := range []struct {
		name, query string
		confident   bool
		near        []string
	}{
		{"nothing alike", "qwertyuiop", false, nil},
		{"another trade", "book a table at an Italian restaurant", false, nil},
		{"close to a name", "send_massages_now", true, nil},
		{"spelled like a name", "creatickets", false, []string{"tickets/create_ticket"}},
		{"empty", "", false, nil},
		{"only stop words", "what is this for", false, nil},
		{"only marks", "?!…", false, nil},
		{"a whole name in a sentence", "now explain query plans, quickly, of the warehouse of Antwerp, Ghent, Leuven", true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := find(t, x, tc.query)
			if r.Confident != tc.confident {
				t.Errorf("confident %v, hits %+v", r.Confident, r.Hits[:min(len(r.Hits), 2)])
			}
			for _, n := range tc.near {
				if !slices.Contains(r.Near, n) {
					t.Errorf("near names are %v, want %v among them", r.Near, n)
				}
			}
			if tc.near == nil && len(r.Near) > 0 {
				t.Errorf("near names are %v, want none", r.Near)
			}
		})
	}
	hidden, err := x.Search(context.Background(), Query{Text: "creatickets", Keep: func(id string) bool { return !strings.HasPrefix(id, "tickets/") }})
	if err != nil || slices.ContainsFunc(hidden.Near, func(n string) bool { return strings.HasPrefix(n, "tickets/") }) {
		t.Errorf("hidden entries are hinted at: %v %v", hidden.Near, err)
	}
}

// The words of a query are words, whatever a query language would make of them.
func TestHostileQueries(t *testing.T) {
	x := mustBuild(t, ownCatalog(t))
	for name, q := range map[string]string{
		"operators":     `+name:send -body:* "mail" ~5 ^100 (a OR b) AND NOT`,
		"regexp":        `/(a+)+$/ .* [`,
		"wildcards":     "* ? ** %",
		"long":          strings.Repeat("send message ", 100_000),
		"long word":     strings.Repeat("a", 1<<20),
		"many words":    strings.Join(strings.Split(strings.Repeat("abcdefghijklmnopqrstuvwxyz", 30), ""), " "),
		"camel":         strings.Repeat("aB", 2000),
		"bad bytes":     "send \xff\xfe\x00 message",
		"control":       "send\x00message\x1b[31m",
		"combining":     "e" + strings.Repeat("\u0301", 5000),
		"right-to-left": "\u202esend message\u202c",
	} {
		t.Run(name, func(t *testing.T) {
			r := find(t, x, q)
			if len(r.Hits) > len(x.docs) || r.Total > len(x.docs) {
				t.Errorf("%d hits, total %d", len(r.Hits), r.Total)
			}
		})
	}
}

func TestServerNamed(t *testing.T) {
	var docs []Doc
	for _, s := range []string{"azure", "azure-devops", "github", "acme-mcp-server"} {
		docs = append(docs, Doc{ID: s + "/list_repos", Server: s, Name: "list_repos", Description: "List the repositories."})
	}
	x := mustBuild(t, docs)
	for query, want := range map[string]string{
		"github list repos":                   "github/list_repos",
		"azure devops repos":                  "azure-devops/list_repos",
		"repos of azure":                      "azure/list_repos",
		"list repositories on acme":           "acme-mcp-server/list_repos",
		"show the repos that github has":      "github/list_repos",
		"List all repositories in the github": "github/list_repos",
	} {
		if r := find(t, x, query); r.Hits[0].ID != want {
			t.Errorf("%s: got %v, want %s first", query, ids(r), want)
		}
	}
}

// A typo is looked for only when the catalog lacks the word.
func TestTyposOnlyForUnknownWords(t *testing.T) {
	x := mustBuild(t, []Doc{
		{ID: "1", Server: "s", Name: "get_form"},
		{ID: "2", Server: "s", Name: "get_farm"},
		{ID: "3", Server: "s", Name: "transform_image"},
	})
	if got := ids(find(t, x, "form")); !slices.Equal(got, []string{"1"}) {
		t.Errorf("known word: got %v", got)
	}
	if got := ids(find(t, x, "foorm")); !slices.Equal(got, []string{"1"}) {
		t.Errorf("one letter too many: got %v", got)
	}
	if got := ids(find(t, x, "trasnform")); !slices.Equal(got, []string{"3"}) {
		t.Errorf("letters swapped: got %v", got)
	}
	if got := ids(find(t, x, "transf")); !slices.Equal(got, []string{"3"}) {
		t.Errorf("prefix: got %v", got)
	}
}

func TestEmptyAndClosed(t *testing.T) {
	x, err := Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := find(t, x, "anything"); r.Total != 0 || r.Confident || len(r.Hits) != 0 {
		t.Errorf("an empty index gives %+v", r)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if _, err := x.Search(context.Background(), Query{Text: "x"}); !errors.Is(err, ErrClosed) {
		t.Errorf("search after close: %v", err)
	}
	y := mustBuild(t, []Doc{{ID: "1", Name: "x"}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := y.Search(ctx, Query{Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("search with an ended context: %v", err)
	}
}

func TestManySegments(t *testing.T) {
	var docs []Doc
	for i := range chunk*2 + 10 {
		docs = append(docs, Doc{ID: fmt.Sprint(i), Server: "s", Name: fmt.Sprintf("tool_number%dx", i)})
	}
	x := mustBuild(t, docs)
	for _, n := range []int{0, chunk - 1, chunk, 2*chunk + 9} {
		if r := find(t, x, docs[n].Name); len(r.Hits) == 0 || r.Hits[0].ID != docs[n].ID {
			t.Errorf("document %d is not found", n)
		}
	}
}

func TestConcurrent(t *testing.T) {
	x := mustBuild(t, ownCatalog(t))
	want := find(t, x, "send a message")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				r, err := x.Search(context.Background(), Query{Text: "send a message"})
				if err != nil || !cmp.Equal(want, r) {
					t.Errorf("got %+v, %v", r, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"getUserID", "k8s_list-pods", "发送email", "e\u0301", "\xff\xfe", "HTTPServer2Go", "a1b2c3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range split(s) {
			if len(r.parts) == 0 || r.whole == "" || !utf8.ValidString(r.whole) {
				t.Fatalf("%q gives run %+v", s, r)
			}
			if joined := strings.Join(r.parts, ""); joined != r.whole {
				t.Errorf("%q: parts %q are not the whole %q", s, r.parts, r.whole)
			}
			for _, again := range split(r.whole) {
				if len(again.whole) > len(r.whole) {
					t.Errorf("%q grows to %q", r.whole, again.whole)
				}
			}
		}
		normal(s)
	})
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"send message", "", "*", "mail/send_message", "scrennshot", "删除文件", "a b c d e f g", `"x" OR y`} {
		f.Add(s)
	}
	x, err := Build(ownCatalog(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { x.Close() })
	f.Fuzz(func(t *testing.T, q string) {
		r, err := x.Search(context.Background(), Query{Text: q})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != min(r.Total, maxHits) {
			t.Errorf("%q: %d hits, total %d", q, len(r.Hits), r.Total)
		}
		for i, h := range r.Hits {
			if !(h.Score > 0) || i > 0 && h.Score > r.Hits[i-1].Score {
				t.Errorf("%q: score %v at %d", q, h.Score, i)
			}
		}
		if r.Confident && len(r.Hits) == 0 || r.Confident && len(r.Near) > 0 || len(r.Near) > maxNear {
			t.Errorf("%q: %+v", q, r)
		}
	})
}
