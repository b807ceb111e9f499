package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClauses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"find the failing build and tell the channel", "find the failing build and|tell the channel"},
		{"Create a branch. After that, please delete the old one", "Create a branch.|After that, please delete the old one"},
		{"search and replace text", "search and replace text"},
		{"files and folders of the project", "files and folders of the project"},
		{"list issues, close them", "list issues, close them"},
		{"send 'stop, delete everything' to the printer", "send 'stop, delete everything' to the printer"},
		{"", ""},
	} {
		if diff := cmp.Diff(tc.want, strings.Join(clauses(tc.text), "|")); diff != "" {
			t.Errorf("%s: -want +got\n%s", tc.text, diff)
		}
	}
	if got := intents(strings.Repeat("a b; ", 50)); len(got) != maxIntents {
		t.Errorf("%d intents", len(got))
	}
}

// Every part of a query is heard, however many variants of one there are.
func TestEveryIntentIsHeard(t *testing.T) {
	var docs []Doc
	for i := range 20 {
		docs = append(docs, Doc{ID: "ci/build" + string(rune('a'+i)), Server: "ci", Name: "find_failing_build_" + string(rune('a'+i)), Description: "Find the failing build."})
	}
	docs = append(docs,
		Doc{ID: "chat/post", Server: "chat", Name: "post_to_channel", Description: "Tell a channel something."},
		Doc{ID: "mail/send", Server: "mail", Name: "send_mail", Description: "Send mail to people."})
	x := mustBuild(t, docs)
	for _, query := range []string{"find the failing build and tell the channel", "find failing build; tell channel", "tell channel; find failing build"} {
		r := find(t, x, query)
		top := ids(r)[:min(4, len(r.Hits))]
		if !slices.Contains(top, "chat/post") || !slices.ContainsFunc(top, func(id string) bool { return strings.HasPrefix(id, "ci/") }) {
			t.Errorf("%s: got %v", query, top)
		}
		if r.Total != 21 || !r.Confident {
			t.Errorf("%s: total %d, confident %v", query, r.Total, r.Confident)
		}
		for i := 1; i < len(r.Hits); i++ {
			if r.Hits[i].Score > r.Hits[i-1].Score {
				t.Fatalf("%s: scores rise at %d", query, i)
			}
		}
	}
	r := find(t, x, "send mail; xyzzy plugh")
	if len(r.Hits) == 0 || r.Hits[0].ID != "mail/send" || !r.Confident {
		t.Errorf("a part that finds nothing: %+v", r)
	}
}
