package proxyface

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

func TestAnnotate(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text", `{"type":"text","text":"a"}`, `{"type":"text","text":"a","annotations":{"proxyType":"tool","proxyAction":"call","proxyPath":"p"}}`},
		{"unknown kind, spellings", `{ "type":"hologram", "n":9007199254740993 ,"f":1.10}`, `{ "type":"hologram", "n":9007199254740993 ,"f":1.10,"annotations":{"proxyType":"tool","proxyAction":"call","proxyPath":"p"}}`},
		{"others stay", `{"annotations":{"priority":0.50}}`, `{"annotations":{"priority":0.50,"proxyType":"tool","proxyAction":"call","proxyPath":"p"}}`},
		{"ours win", `{"annotations":{"proxyPath":"q","x":1}}`, `{"annotations":{"x":1,"proxyType":"tool","proxyAction":"call","proxyPath":"p"}}`},
		{"null", `{"annotations":null}`, `{"annotations":{"proxyType":"tool","proxyAction":"call","proxyPath":"p"}}`},
		{"empty block", `{ }`, `{"annotations":{"proxyType":"tool","proxyAction":"call","proxyPath":"p"} }`},
		{"annotations of another kind", `{"annotations":[1]}`, `{"annotations":[1]}`},
		{"no object", `7`, `7`},
	} {
		raw := json.RawMessage(`{"a":1, "content" : [` + c.in + `],"z":1.0}`)
		want := `{"a":1, "content" : [` + c.want + `],"z":1.0}`
		if got := string(annotateAll(raw, called("tool", "p"), nil).Raw()); got != want {
			t.Errorf("%s: got %s, want %s", c.name, got, want)
		}
	}
}

func TestObjectify(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"JSON called text", `{"type":"resource","resource":{"uri":"u","mimeType":"text/plain","text":"{ \"b\": 1.10, \"a\": 9007199254740993 }"}}`,
			`{"type":"resource","resource":{"uri":"u","mimeType":"application/json","text":"{\"b\":1.10,\"a\":9007199254740993}","contentType":"text/plain"}}`},
		{"JSON without a type", `{"resource":{"text":"[1, 2]"}}`, `{"resource":{"text":"[1,2]","mimeType":"application/json"}}`},
		{"JSON called so", `{"resource":{"mimeType":"application/json","text":"[1, 2]"}}`, ``},
		{"text", `{"resource":{"mimeType":"text/plain","text":"[1, 2"}}`, ``},
		{"blob", `{"resource":{"mimeType":"image/png","blob":"AAEC"}}`, ``},
		{"no resource", `{"type":"text","text":"[1, 2]"}`, ``},
		{"no object", `7`, ``},
	} {
		if c.want == "" {
			c.want = c.in
		}
		if got := string(objectify(json.RawMessage(c.in))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// FuzzAnnotate holds that what is annotated stays JSON, and is what it was once the annotations are taken away.
func FuzzAnnotate(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text"},{"annotations":null},7]}`))
	f.Add([]byte(`{"content":{},"content":[{ }]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !rawjson.Valid(raw) || len(raw) > 1<<16 {
			t.Skip()
		}
		out := annotateAll(raw, called("tool", "p"), objectify).Raw()
		if !rawjson.Valid(out) {
			t.Fatalf("got %s of %s", out, raw)
		}
		if !bytes.Contains(raw, []byte("annotations")) && !bytes.Contains(raw, []byte("resource")) && !bytes.Contains(raw, []byte(`\`)) {
			bare := strings.NewReplacer(`,"annotations":{"proxyType":"tool","proxyAction":"call","proxyPath":"p"}`, "", `"annotations":{"proxyType":"tool","proxyAction":"call","proxyPath":"p"}`, "").Replace(string(out))
			if bare != string(raw) {
				t.Fatalf("got %s, want %s", bare, raw)
			}
		}
	})
}

// FuzzOperation holds that parameters are read or refused, never half: what is read keeps the rules.
func FuzzOperation(f *testing.F) {
	for _, in := range []string{`{"action":"list","type":"tool","limit":5,"filter":{"tags":["a"]}}`, `{"action":"call","type":"tool","path":"p","args":"{\"a\":1}"}`,
		`{"action":"batch","operations":[{}]}`, `{"action":"info","a_type":"prompt","path":"x"}`, `null`, `{"type":null}`} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !rawjson.Valid(raw) {
			t.Skip()
		}
		o, err := readOperation(raw)
		if err != nil {
			if e, ok := errors.AsType[*dispatch.Error](err); !ok || e.Code != dispatch.BadRequest || !rawjson.Valid(e.Result()) {
				t.Fatalf("got %v", err)
			}
			return
		}
		needsPath := o.action == actionInfo || o.action == actionCall
		switch {
		case o.limit < 1 || o.limit > maxLimit || o.offset < 0,
			needsPath != (o.path != ""),
			o.kind == "" && o.action != actionBatch,
			o.args != nil && (o.action != actionCall || !rawjson.Valid(o.args)),
			(o.operations != nil) != (o.action == actionBatch):
			t.Fatalf("got %+v of %s", o, raw)
		}
	})
}
