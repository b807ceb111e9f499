package dispatch

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReadResult(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		kinds    string
		size     int64
		isError  bool
		fault    bool
	}{
		{name: "text", in: `{"content":[{"type":"text","text":"a\nb"}]}`, kinds: "text", size: 3},
		{name: "keys in another order", in: `{"isError":true,"content":[{"text":"ab","type":"text"}]}`, kinds: "text", size: 2, isError: true},
		{name: "structured beside text", in: `{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}`, kinds: "text", size: 8},
		{name: "structured that is the text", in: `{"content":[{"type":"text","text":"{ \"a\": 1 }"}],"structuredContent":{"a":1}}`, kinds: "text", size: 10},
		{name: "image does not count", in: `{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}`, kinds: "image"},
		{name: "embedded text", in: `{"content":[{"type":"resource","resource":{"uri":"x","text":"abc"}}]}`, kinds: "resource", size: 3},
		{name: "unknown kind", in: `{"content":[{"type":"x"}]}`, kinds: "x", size: 12},
		{name: "block that is no object", in: `{"content":[7]}`, kinds: "", size: 0},
		{name: "escaped key", in: `{"\u0063ontent":[{"type":"text","text":"a"}]}`, kinds: "text", size: 1},
		{name: "content that is no list", in: `{"content":{"type":"text"}}`},
		{name: "null", in: `{"content":[],"structuredContent":null,"_meta":null}`},
		{name: "no content", in: `{}`},
		{name: "a list", in: `[1]`, fault: true},
		{name: "a text", in: `"x"`, fault: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := readResult(json.RawMessage(tc.in))
			if (err != nil) != tc.fault {
				t.Fatalf("got error %v, want a fault: %v", err, tc.fault)
			}
			if err != nil {
				return
			}
			var kinds []string
			for _, b := range r.blocks {
				kinds = append(kinds, b.kind)
			}
			if got := strings.Join(kinds, " "); got != tc.kinds || r.size() != tc.size || r.isError != tc.isError {
				t.Errorf("got %q, %d bytes, isError %v, want %q, %d, %v", got, r.size(), r.isError, tc.kinds, tc.size, tc.isError)
			}
		})
	}
}

// FuzzReadResult holds that any JSON can be looked at, and that what is said beside a result leaves it valid.
func FuzzReadResult(f *testing.F) {
	for _, s := range []string{`{"content":[{"type":"text","text":"a"}],"_meta":{"x":1}}`, `{ }`, `{"content":[[],{"type":1}]}`, `{"_meta":{"proxy-dispatch":1}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			return
		}
		r, err := readResult(json.RawMessage(in))
		if err != nil {
			return
		}
		_ = r.size()
		if out := r.withMeta(json.RawMessage(`{"a":1}`)).Raw(); !json.Valid(out) {
			t.Errorf("%q became %q", in, out)
		}
	})
}
