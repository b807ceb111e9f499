package rawjson

import (
	"bytes"
	"testing"
)

func TestSplice(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"set in its place", string(Set([]byte(` {"a" : 1.10, "b":2} `), "a", []byte(`"x"`))), ` {"a" : "x", "b":2} `},
		{"set at the end", string(Set([]byte(`{"a":1 }`), "b", []byte(`2`))), `{"a":1,"b":2 }`},
		{"set in an empty object", string(Set([]byte("{ \n}"), "b", []byte(`2`))), "{\"b\":2 \n}"},
		{"set the last of several", string(Set([]byte(`{"a":1,"\u0061":2}`), "a", []byte(`3`))), `{"a":1,"\u0061":3}`},
		{"set in no object", string(Set([]byte(`[1]`), "a", []byte(`3`))), `[1]`},
		{"set in nothing", string(Set(nil, "a", []byte(`3`))), ``},
		{"drop", string(Drop([]byte(`{"a":1, "b": {"a":1.0} ,"c":3,"a":2}`), "a", "c")), `{"b":{"a":1.0}}`},
		{"drop all", string(Drop([]byte(`{"a":1}`), "a")), `{}`},
		{"drop nothing", string(Drop([]byte(`{"a" : 1}`), "b")), `{"a" : 1}`},
		{"drop from no object", string(Drop([]byte(`"a"`), "a")), `"a"`},
		{"array", string(Array([][]byte{[]byte(`1`), []byte(`{}`)})), `[1,{}]`},
		{"empty array", string(Array[[]byte](nil)), `[]`},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
}

// FuzzSet holds that what was set is read back, and that the rest stays.
func FuzzSet(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[2]}`), "b")
	f.Add([]byte(` { } `), "é\"")
	f.Fuzz(func(t *testing.T, raw []byte, key string) {
		if !Valid(raw) || raw[Space(raw, 0)] != '{' || string(Quote(key)) != string(Quote(Unquote(Quote(key)))) {
			t.Skip()
		}
		out := Set(raw, key, []byte(`[7]`))
		if !Valid(out) {
			t.Fatalf("got %s of %s", out, raw)
		}
		if got := Member(out, Unquote(Quote(key))); string(got) != `[7]` {
			t.Fatalf("got %s of %s", got, out)
		}
		if left := Drop(out, Unquote(Quote(key))); !Valid(left) || bytes.Contains(left, []byte(`[7]`)) && !bytes.Contains(raw, []byte(`[7]`)) {
			t.Fatalf("got %s", left)
		}
	})
}
