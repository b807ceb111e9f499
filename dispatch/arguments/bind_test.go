package arguments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errGone = errors.New("gone")

// stored is a Lookup over a few handles; a path names a key of an object.
func stored(_ context.Context, r Reference) (json.RawMessage, error) {
	data := map[string]string{
		"r1aa": `{"id": 1.10, "tags": ["a","b"], "text": "hello"}`, "r2bb": `[{"x":1},` + "\n" + `{"x":2}]`,
		"r3cc": `"{\"id\":7}"`, "r4dd": `"5"`, "r5ee": `{"$from":"r1aa"}`, "r6ff": `12345678901234567890`,
	}
	switch {
	case r.From[0] == "r9zz":
		return nil, errGone
	case len(r.From) > 1:
		return json.RawMessage(fmt.Sprintf("[%s]", data[r.From[0]]+","+data[r.From[1]])), nil
	case data[r.From[0]] == "":
		return nil, ErrNoReference
	case r.Path != "":
		o, err := ParseObject(json.RawMessage(data[r.From[0]]))
		if err != nil {
			return nil, err
		}
		v, _ := o.Get(r.Path)
		return v, nil
	}
	return json.RawMessage(data[r.From[0]]), nil
}

const bindSchema = `{"properties":{"s":{"type":"string"},"l":{"type":"array"},"o":{"type":"object"},"n":{"type":"number"},"any":{}}}`

func TestBind(t *testing.T) {
	tests := []struct {
		name, in, out string
		from          []string
		err           error
	}{
		{name: "no reference", in: `{"s": "x"}`, out: `{"s": "x"}`},
		{name: "whole value", in: `{"o": {"$from":"r1aa"}, "n": 1.0}`, out: `{"o": {"id": 1.10, "tags": ["a","b"], "text": "hello"}, "n": 1.0}`, from: []string{"r1aa"}},
		{name: "record lines are joined", in: `{"l":{"$from":"r2bb"}}`, out: `{"l":[{"x":1},{"x":2}]}`, from: []string{"r2bb"}},
		{name: "path keeps spelling", in: `{"n":{"$from":"r1aa","path":"id"}}`, out: `{"n":1.10}`, from: []string{"r1aa"}},
		{name: "large integer", in: `{"n":{"$from":"r6ff"}}`, out: `{"n":12345678901234567890}`, from: []string{"r6ff"}},
		{name: "deep and twice", in: `{"l":[{"a":{"$from":"r4dd"}},{"$from":"r4dd"}]}`, out: `{"l":[{"a":"5"},"5"]}`, from: []string{"r4dd"}},
		{name: "list of handles", in: `{"l":{"$from":["r4dd","r6ff"]}}`, out: `{"l":["5",12345678901234567890]}`, from: []string{"r4dd", "r6ff"}},
		{name: "object where a string is wanted", in: `{"s":{"$from":"r2bb"}}`, out: `{"s":"[{\"x\":1},{\"x\":2}]"}`, from: []string{"r2bb"}},
		{name: "strings where a string is wanted", in: `{"s":{"$from":"r1aa","path":"tags"}}`, out: `{"s":"a\nb"}`, from: []string{"r1aa"}},
		{name: "as json where a string is wanted", in: `{"s":{"$from":"r1aa","path":"tags","as":"json"}}`, out: `{"s":"[\"a\",\"b\"]"}`, from: []string{"r1aa"}},
		{name: "as text", in: `{"any":{"$from":"r1aa","path":"tags","as":"text"}}`, out: `{"any":"a\nb"}`, from: []string{"r1aa"}},
		{name: "as json of text", in: `{"any":{"$from":"r3cc","as":"json"}}`, out: `{"any":{"id":7}}`, from: []string{"r3cc"}},
		{name: "string stays a string", in: `{"any":{"$from":"r3cc"}}`, out: `{"any":"{\"id\":7}"}`, from: []string{"r3cc"}},
		{name: "arguments themselves", in: `{"$from":"r1aa"}`, out: `{"id": 1.10, "tags": ["a","b"], "text": "hello"}`, from: []string{"r1aa"}},
		{name: "arguments from text", in: ` {"$from":"r3cc"}`, out: `{"id":7}`, from: []string{"r3cc"}},
		{name: "arguments from no object", in: `{"$from":"r6ff"}`, err: ErrNotObject},
		{name: "data is not searched", in: `{"any":{"$from":"r5ee"}}`, out: `{"any":{"$from":"r1aa"}}`, from: []string{"r5ee"}},
		{name: "other keys: no reference", in: `{"any":{"$from":"r1aa","to":1}}`, out: `{"any":{"$from":"r1aa","to":1}}`},
		{name: "select is another key", in: `{"any":{"$from":"r1aa","select":"id"}}`, out: `{"any":{"$from":"r1aa","select":"id"}}`},
		{name: "no name", in: `{"any":[{"$from":5},{"$from":""},{"$from":[]},{"$from":"two words"},{"$from":null}]}`, out: `{"any":[{"$from":5},{"$from":""},{"$from":[]},{"$from":"two words"},{"$from":null}]}`},
		{name: "no handle", in: `{"any":{"$from":"2024-01-01"}}`, out: `{"any":{"$from":"2024-01-01"}}`},
		{name: "literal of a reference", in: `{"any":{"$literal":{"$from": "r1aa", "path":"id"}}}`, out: `{"any":{"$from": "r1aa", "path":"id"}}`},
		{name: "literal of a literal", in: `{"any":{"$literal":{"$literal":{"$from":"r1aa"}}}}`, out: `{"any":{"$literal":{"$from":"r1aa"}}}`},
		{name: "literal of something else", in: `{"any":{"$literal":{"a":1}},"s":{"$literal":5}}`, out: `{"any":{"$literal":{"a":1}},"s":{"$literal":5}}`},
		{name: "literal with more keys", in: `{"any":{"$literal":{"$from":"r4dd"},"x":1}}`, out: `{"any":{"$literal":"5","x":1}}`, from: []string{"r4dd"}},
		{name: "escaped key", in: `{"any":{"\u0024from":"r4dd"}}`, out: `{"any":"5"}`, from: []string{"r4dd"}},
		{name: "null path", in: `{"any":{"$from":"r4dd","path":null}}`, out: `{"any":"5"}`, from: []string{"r4dd"}},
		{name: "path of another kind", in: `{"any":{"$from":"r4dd","path":5}}`, err: ErrBadReference},
		{name: "unknown form", in: `{"any":{"$from":"r4dd","as":"xml"}}`, err: ErrBadReference},
		{name: "lookup fails", in: `{"any":{"$from":"r9zz"}}`, err: errGone},
		{name: "too many", in: `{"l":[` + strings.Repeat(`{"$from":"r4dd"},`, maxReferences) + `{"$from":"r4dd"}]}`, err: ErrTooLarge},
		{name: "too deep", in: `{"$a":` + strings.Repeat(`[`, maxBindDepth+1) + strings.Repeat(`]`, maxBindDepth+1) + `}`, err: ErrTooLarge},
		{name: "not an object", in: `[{"$from":"r4dd"}]`, err: ErrNotObject},
	}
	s := mustCompile(t, bindSchema)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, from, err := Bind(t.Context(), json.RawMessage(tt.in), s, stored)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error: got %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.out, string(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.from, from); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	in := `{"b":{"$from":"r2bb","jq":".x"},"a":[{"$from":["i1","i2"],"path":"p","as":"text"},{"$literal":{"$from":"no"}}],"c":{"$from":"x","y":1}}`
	want := []Reference{
		{From: []string{"r2bb"}, JQ: ".x", Raw: json.RawMessage(`{"$from":"r2bb","jq":".x"}`)},
		{From: []string{"i1", "i2"}, Path: "p", As: "text", Raw: json.RawMessage(`{"$from":["i1","i2"],"path":"p","as":"text"}`)},
	}
	if diff := cmp.Diff(want, References(json.RawMessage(in))); diff != "" {
		t.Error(diff)
	}
}

func FuzzBind(f *testing.F) {
	for _, s := range []string{`{"s":{"$from":"r1aa","path":"tags"}}`, `{"any":[{"$literal":{"$from":"r1aa"}},{"$from":["r4dd","r6ff"]}]}`, `{"$from":"r1aa"}`, `{"a":"\"$from"}`} {
		f.Add([]byte(s))
	}
	s := mustCompile(f, bindSchema)
	f.Fuzz(func(t *testing.T, in []byte) {
		refs := References(in)
		seen := 0
		got, _, err := Bind(t.Context(), in, s, func(ctx context.Context, r Reference) (json.RawMessage, error) {
			seen++
			return json.RawMessage(`"x"`), nil
		})
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s became no JSON: %s", in, got)
		}
		if seen != len(refs) {
			t.Fatalf("%s: %d looked up, %d listed", in, seen, len(refs))
		}
		if len(refs) == 0 && !strings.Contains(string(in), "literal") && string(got) != string(in) {
			t.Fatalf("%s became %s", in, got)
		}
	})
}
