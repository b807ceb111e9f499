package variable

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func env(name string) (string, bool) {
	value, ok := map[string]string{"SET": "value", "EMPTY": "", "HOLDS": "${SET}"}[name]
	return value, ok
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Expansion
	}{
		{"none", "a $SET } b", Expansion{Text: "a $SET } b"}},
		{"set", "a ${SET} b", Expansion{Text: "a value b", Values: []string{"value"}}},
		{"with env:", "${env:SET}", Expansion{Text: "value", Values: []string{"value"}}},
		{"not set", "a${NO}b", Expansion{Text: "ab", Missing: []string{"NO"}}},
		{"empty is set", "a${EMPTY}b", Expansion{Text: "ab"}},
		{"a default", "${NO:-x y}", Expansion{Text: "x y", Values: []string{"x y"}}},
		{"a default for empty", "${EMPTY:-x}", Expansion{Text: "x", Values: []string{"x"}}},
		{"a default not needed", "${SET:-x}", Expansion{Text: "value", Values: []string{"value"}}},
		{"a variable in a default", "${NO:-a${SET}}", Expansion{Text: "avalue", Values: []string{"value", "avalue"}}},
		{"values are not expanded", "${HOLDS}", Expansion{Text: "${SET}", Values: []string{"${SET}"}}},
		{"only the client knows it", "${input:key}", Expansion{Missing: []string{"input:key"}}},
		{"no name", "${a b} ${1}", Expansion{Text: "${a b} ${1}"}},
		{"never closed", "${SET", Expansion{Text: "${SET"}},
		{"escaped", "$${SET} ${SET}", Expansion{Text: "${SET} value", Values: []string{"value"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Expand(tt.text, env), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzExpand checks that an escaped text comes back as it was, and that none makes Expand panic.
func FuzzExpand(f *testing.F) {
	f.Add("a ${SET:-${NO:-x}} $${b")
	f.Fuzz(func(t *testing.T, text string) {
		Expand(text, env)
		if got := Expand(Escape(text), env); got.Text != text || got.Values != nil || got.Missing != nil {
			t.Errorf("Expand(Escape(%q)) = %+v", text, got)
		}
	})
}
