package arguments

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseObject(t *testing.T) {
	tests := []struct {
		name, in, out string
		err           error
		dup           bool
	}{
		{name: "empty", in: ` {} `, out: `{}`},
		{name: "order and spelling kept", in: `{"b": 1.10, "a" : {"z":1, "y":2}, "c":12345678901234567890}`,
			out: `{"b":1.10,"a":{"z":1, "y":2},"c":12345678901234567890}`},
		{name: "strings with quotes and braces", in: `{"a\"}":"x\\\"{","b":["]"]}`, out: `{"a\"}":"x\\\"{","b":["]"]}`},
		{name: "escaped key", in: `{"\u0061":1}`, out: `{"a":1}`},
		{name: "html stays", in: `{"<a>":"<&>"}`, out: `{"<a>":"<&>"}`},
		{name: "duplicate", in: `{"a":1,"a":2}`, dup: true},
		{name: "duplicate by escape", in: `{"a":1,"\u0061":2}`, dup: true},
		{name: "case variant", in: `{"path":1,"Path":2}`, dup: true},
		{name: "folded unicode variant", in: `{"k":1,"\u212a":2}`, dup: true},
		{name: "list", in: `[1]`, err: ErrNotObject},
		{name: "half", in: `{"a":`, err: ErrNotObject},
		{name: "two values", in: `{} {}`, err: ErrNotObject},
		{name: "nothing", in: ``, err: ErrNotObject},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := ParseObject(json.RawMessage(tt.in))
			var dup *DuplicateError
			if got := errors.As(err, &dup); got != tt.dup {
				t.Fatalf("duplicate: got %v, want %v", err, tt.dup)
			}
			if tt.dup {
				return
			}
			if !errors.Is(err, tt.err) {
				t.Fatalf("error: got %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			if got := string(o.Raw()); got != tt.out {
				t.Errorf("got %s, want %s", got, tt.out)
			}
		})
	}
}

func TestObjectChanges(t *testing.T) {
	o, err := ParseObject(json.RawMessage(`{"a":1,"b":2,"c":3}`))
	if err != nil {
		t.Fatal(err)
	}
	changed := o.Set("b", json.RawMessage(`[2]`)).Set("d", nil).Delete("a")
	if got, want := string(changed.Raw()), `{"b":[2],"c":3,"d":null}`; got != want {
		t.Errorf("changed: got %s, want %s", got, want)
	}
	if got, want := string(o.Raw()), `{"a":1,"b":2,"c":3}`; got != want {
		t.Errorf("original: got %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"b", "c", "d"}, changed.Keys()); diff != "" {
		t.Error(diff)
	}
	if _, ok := changed.Get("a"); ok {
		t.Error("a is still there")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"read_file", "write_file", "readResult", "list_directory", "path", "pattern", "limit"}
	tests := []struct {
		word string
		want []string
	}{
		{"readFile", []string{"read_file"}},
		{"raed_file", []string{"read_file"}},
		{"pth", []string{"path"}},
		{"list", []string{"list_directory"}},
		{"file_path", []string{"path", "read_file", "write_file"}},
		{"lmiit", []string{"limit"}},
		{"zzzzzz", nil},
		{"", nil},
	}
	for _, tt := range tests {
		t.Run(tt.word, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Nearest(tt.word, names, 3)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1.10,"b":{"c":[1,"\"}",{}]}}`, ` { "\u00e9" : null , "x\\" : -0e5 } `, `{"a":1,"A":2}`, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		o, err := ParseObject(in)
		if err != nil {
			return
		}
		printed := o.Raw()
		again, err := ParseObject(printed)
		if err != nil {
			t.Fatalf("print of %q does not parse: %v", in, err)
		}
		if diff := cmp.Diff(o, again); diff != "" {
			t.Fatalf("parse of print differs: %s", diff)
		}
		var want, got any
		if json.Unmarshal(in, &want) == nil && json.Unmarshal(printed, &got) == nil {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("value differs: %s", diff)
			}
		}
	})
}
