package lexicon

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Entry
		wrong      string
	}{
		{name: "words", text: "a: b, c d ,\n\n# note\n  e f : g", want: []Entry{{"a", []string{"b", "c d"}}, {"e f", []string{"g"}}}},
		{name: "byte order mark", text: "\ufeffa: b\r\n", want: []Entry{{"a", []string{"b"}}}},
		{name: "nothing", text: ""},
		{name: "no colon", text: "a: b\nwords", wrong: "line 2"},
		{name: "no words", text: "a: , ,", wrong: "no words"},
		{name: "no head", text: ": a", wrong: "line 1"},
		{name: "long word", text: "a: " + strings.Repeat("x", maxWord+1), wrong: "longer"},
		{name: "not text", text: "a: \xff", wrong: "UTF-8"},
		{name: "long line", text: "a: " + strings.Repeat("x, ", maxLine), wrong: "too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse(strings.NewReader(tc.text))
			if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Fatalf("error is %v, want %q", err, tc.wrong)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && tc.wrong == "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Every word of a language stands for a concept there is.
func TestFiles(t *testing.T) {
	concepts, err := Concepts()
	if err != nil {
		t.Fatal(err)
	}
	heads := map[string]bool{}
	for _, e := range concepts {
		heads[e.Head] = true
	}
	for _, code := range Languages() {
		entries, err := Language(code)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			if !heads[e.Head] {
				t.Errorf("%s: %q is no head of a concept", code, e.Head)
			}
		}
		if stops, err := StopWords(code); err != nil || len(stops) == 0 {
			t.Errorf("%s: no stop words: %v", code, err)
		}
	}
	if slices.Contains(Languages(), "en") {
		t.Error("English is among the other languages")
	}
	if entries, err := Language("xx"); entries != nil || err != nil {
		t.Errorf("a language that is not there gives %v, %v", entries, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: b, c d\n# x\ne: f")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		for _, e := range entries {
			b.WriteString(e.Head + ": " + strings.Join(e.Words, ", ") + "\n")
		}
		again, err := Parse(strings.NewReader(b.String()))
		if diff := cmp.Diff(entries, again); err != nil || diff != "" && !strings.HasPrefix(entries[0].Head, "#") {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	})
}
