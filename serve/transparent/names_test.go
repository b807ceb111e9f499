package transparent

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrefixed(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, tc := range []struct{ name, server, tool, want string }{
		{"short", "files", "read", "files__read"},
		{"separators in the name", "a", "b__c", "a__b__c"},
		{"exactly the limit", "s", strings.Repeat("x", 61), "s__" + strings.Repeat("x", 61)},
		{"one more", "s", strings.Repeat("x", 62), "s__" + strings.Repeat("x", 54) + "_382c91"},
		{"long", "s", long, "s__" + strings.Repeat("x", 54) + "_7664be"},
		{"characters, not bytes", "s", strings.Repeat("ü", 61), "s__" + strings.Repeat("ü", 61)},
		{"long server", long, "read", strings.Repeat("x", 57) + "_d6ff16"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := prefixed(tc.server, tc.tool)
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if n := utf8.RuneCountInString(got); n > maxName {
				t.Errorf("got %d characters, want at most %d", n, maxName)
			}
		})
	}
	if prefixed("s", long+"a") == prefixed("s", long+"b") {
		t.Error("two long names are cut to the same")
	}
}

func TestURIs(t *testing.T) {
	for _, tc := range []struct{ name, server, uri string }{
		{"plain", "files", "file:///etc/hosts"},
		{"odd server", "my server/1", "mem://x"},
		{"odd uri", "s", `x://a"b\c?d=ü#e`},
		{"no uri at all", "s", "note"},
		{"a proxy behind us", "outer", resourceURI("inner", "mem://x")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, shown := range []string{resourceURI(tc.server, tc.uri), resourceURI(tc.server, tc.uri) + "==", templateURI(tc.server, tc.uri)} {
				if server, uri, ok := ownURI(shown); !ok || server != tc.server || uri != tc.uri {
					t.Errorf("%s: got %q, %q, %v, want %q, %q", shown, server, uri, ok, tc.server, tc.uri)
				}
			}
		})
	}
	if got, want := resourceURI("fake", "mem://x"), "proxy://resource/eyJzZXJ2ZXIiOiJmYWtlIiwidXJpIjoibWVtOi8veCJ9"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := templateURI("a b", "mem://{id}{?q*}"), "proxy://template/a%20b/mem://{id}{?q*}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []string{"", "proxy://resource/", "proxy://resource/!!", "proxy://resource/e30", "proxy://resource/W10", "proxy://template/", "proxy://template/s", "proxy://template/s/", "proxy://template/%zz/x", "mem://x"} {
		if server, uri, ok := ownURI(bad); ok {
			t.Errorf("%q: got %q, %q, want none", bad, server, uri)
		}
	}
}

func TestOwnTask(t *testing.T) {
	servers := []string{"a", "a::b", "c"}
	for _, tc := range []struct {
		shown, server, id string
		ok                bool
	}{
		{"c::7", "c", "7", true},
		{"a::b::7", "a::b", "7", true},
		{"a::x::7", "a", "x::7", true},
		{"c::", "", "", false},
		{"7", "", "", false},
		{"d::7", "", "", false},
	} {
		if server, id, ok := ownTask(tc.shown, servers); server != tc.server || id != tc.id || ok != tc.ok {
			t.Errorf("%s: got %q, %q, %v, want %q, %q, %v", tc.shown, server, id, ok, tc.server, tc.id, tc.ok)
		}
	}
}

// FuzzURIs holds that what we show leads back, and that nothing else does by accident.
func FuzzURIs(f *testing.F) {
	f.Add("files", "file:///etc/hosts")
	f.Add("a/b", "x://{id}")
	f.Add("s", "proxy://resource/e30")
	f.Fuzz(func(t *testing.T, server, uri string) {
		if _, _, ok := ownURI(uri); ok && !strings.HasPrefix(uri, "proxy://") {
			t.Errorf("%q is taken for ours", uri)
		}
		if server == "" || uri == "" || !utf8.ValidString(server) || !utf8.ValidString(uri) {
			return
		}
		for _, shown := range []string{resourceURI(server, uri), templateURI(server, uri)} {
			if s, u, ok := ownURI(shown); !ok || s != server || u != uri {
				t.Errorf("%s: got %q, %q, %v, want %q, %q", shown, s, u, ok, server, uri)
			}
		}
	})
}

// FuzzNames holds that names keep their limit and differ where they are cut.
func FuzzNames(f *testing.F) {
	f.Add("files", "read", "write")
	f.Add("s", strings.Repeat("x", 70)+"a", strings.Repeat("x", 70)+"b")
	f.Fuzz(func(t *testing.T, server, one, other string) {
		a, b := prefixed(server, one), prefixed(server, other)
		if n := utf8.RuneCountInString(a); n > maxName {
			t.Errorf("%q has %d characters", a, n)
		}
		if (one == other) != (a == b) && utf8.ValidString(server+one+other) {
			t.Errorf("%q and %q are shown as %q and %q", one, other, a, b)
		}
	})
}

// FuzzCursors holds that a cursor that was not ours is refused and never leads outside of a list.
func FuzzCursors(f *testing.F) {
	f.Add(cursor{List: "tools", Offset: 2, After: "x"}.String())
	f.Add("eyJvZmZzZXQiOjF9")
	rows := []row{{shown: "a"}, {shown: "b"}}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := readCursor("tools", text)
		if err != nil {
			return
		}
		if at := c.begin(rows); at < 0 || at > len(rows) {
			t.Errorf("%q leads to %d", text, at)
		}
		if again, err := readCursor("tools", c.String()); err != nil || again != c {
			t.Errorf("%q: got %v, %v, want %v", text, again, err, c)
		}
	})
}

// FuzzResults holds that a result stays JSON whatever it holds, and stays as it is where URIs and ids stay.
func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"content":[{"uri":"a","type":"resource_link"},{"type":"resource","resource":{"uri":"b"}}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}}}`))
	f.Add([]byte(`{"messages":[{"content":{"type":"resource","resource":{"uri":"b"}}}],"contents":[{"uri":"a"}],"tasks":[{"taskId":"x"}],"task":{"taskId":1}}`))
	same := func(own string) string { return own }
	other := func(own string) string { return own + "\"ü" }
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		for name, s := range map[string]shape{"tool": toolResult, "prompt": promptResult, "resource": resourceResult, "tasks": tasks, "task": task} {
			w := rewriter{raw: raw, uri: same, task: same}
			if got := w.rewrite(s).Raw(); string(got) != string(raw) {
				t.Errorf("%s: %s became %s", name, raw, got)
			}
			w = rewriter{raw: raw, uri: other, task: other}
			if got := w.rewrite(s).Raw(); !json.Valid(got) {
				t.Errorf("%s: %s became %s", name, raw, got)
			}
		}
	})
}
