package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadPage(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		items    []string
		next     string
		fails    string
	}{
		{name: "as written", in: `{"tools":[ {"name" : "a","n":1.10} , {"name":"b"}]}`, items: []string{`{"name" : "a","n":1.10}`, `{"name":"b"}`}},
		{name: "more pages", in: `{"nextCursor":"p\u0032","tools":[]}`, next: "p2"},
		{name: "empty cursor", in: `{"tools":[],"nextCursor":""}`},
		{name: "null cursor", in: `{"tools":[],"nextCursor":null}`},
		{name: "null list", in: `{"tools":null}`},
		{name: "brackets in strings", in: `{"x":"]}\"[","tools":["]","}"]}`, items: []string{`"]"`, `"}"`}},
		{name: "no list", in: `{"nextCursor":"x"}`, fails: `no "tools"`},
		{name: "not a list", in: `{"tools":{}}`, fails: "not a list"},
		{name: "not an object", in: `[]`, fails: `no "tools"`},
		{name: "not JSON", in: `{"tools":[}`, fails: "not valid JSON"},
		{name: "nothing", in: ``, fails: "not valid JSON"},
		{name: "bottomless", in: strings.Repeat("[", 1<<20), fails: "not valid JSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := readPage(lists[0], json.RawMessage(tc.in))
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("readPage error = %v, want one with %q", err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatalf("readPage error = %v", err)
			}
			var items []string
			for _, item := range p.items {
				items = append(items, string(item))
			}
			if diff := cmp.Diff(tc.items, items); diff != "" || p.next != tc.next {
				t.Errorf("readPage next = %q, want %q; items (-want +got):\n%s", p.next, tc.next, diff)
			}
		})
	}
}

func TestCollectorReportsWhatItLeavesOut(t *testing.T) {
	c := newCollector("s")
	c.add(lists[0], []json.RawMessage{
		[]byte(`{"name":"a","description":"first"}`), []byte(`{"name":"a","description":"second"}`),
		[]byte(`{"title":"nameless"}`), []byte(`7`), []byte(`{"name":7}`), []byte(`{"name":"` + strings.Repeat("x", maxName+1) + `"}`),
	})
	c.add(lists[3], []json.RawMessage{[]byte(`{"name":"a"}`)})
	if len(c.entries) != 2 || c.entries[0].Description != "first" || c.entries[1].Kind != Prompt {
		t.Errorf("entries = %v, want the first tool a and the prompt a", c.entries)
	}
	want := []string{
		`tools/list: "a" stands twice, the first is kept`, "tools/list: entry 3 of the page has no name",
		"tools/list: entry 4 of the page is not an object", "tools/list: entry 5 of the page has no name",
		"tools/list: entry 6 of the page has a name over 16384 bytes",
	}
	if diff := cmp.Diff(want, c.reports()); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	for range 100 {
		c.report("again")
	}
	if got := c.reports(); len(got) != maxReports+1 || got[maxReports] != "and 85 more" {
		t.Errorf("reports end with %q of %d, want %q of %d", got[len(got)-1], len(got), "and 85 more", maxReports+1)
	}
}

func TestNewEntry(t *testing.T) {
	for _, tc := range []struct {
		name     string
		kind     Kind
		template bool
		in       string
		check    func(*Entry) (got, want any)
	}{
		{"tool parts are exact", Tool, false, `{"name":"t","inputSchema":{ "type":"object","x":12345678901234567890 },"outputSchema":{"a":1.10},"annotations":{"z":0}}`,
			func(e *Entry) (any, any) {
				return []string{string(e.InputSchema), string(e.OutputSchema), string(e.Annotations)},
					[]string{`{ "type":"object","x":12345678901234567890 }`, `{"a":1.10}`, `{"z":0}`}
			}},
		{"null parts are absent", Tool, false, `{"name":"t","inputSchema":null,"annotations":null}`,
			func(e *Entry) (any, any) { return e.InputSchema == nil && e.Annotations == nil, true }},
		{"texts are cleaned", Tool, false, `{"name":"t","title":"A\u200bB","description":"x\u0000y\nz\ud83d\ude00"}`,
			func(e *Entry) (any, any) { return e.Title + "|" + e.Description, "AB|xy\nz😀" }},
		{"title of the annotations", Tool, false, `{"name":"t","annotations":{"title":"T"}}`,
			func(e *Entry) (any, any) { return e.Title, "T" }},
		{"hints", Tool, false, `{"name":"t","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":"yes"}}`,
			func(e *Entry) (any, any) {
				return []any{*e.ReadOnly, *e.Destructive, e.Idempotent == nil, e.OpenWorld == nil}, []any{true, false, true, true}
			}},
		{"resource", Resource, false, `{"uri":"file:///a","name":"A","mimeType":"text/plain","inputSchema":{}}`,
			func(e *Entry) (any, any) {
				return []any{e.Name, e.Title, e.MimeType, e.InputSchema == nil, e.Ref.String()}, []any{"file:///a", "A", "text/plain", true, "s/file:///a"}
			}},
		{"template", Resource, true, `{"uriTemplate":"x://{a}/{+b*}{?q,r:3}","name":"X"}`,
			func(e *Entry) (any, any) {
				return []any{e.Name, e.Signature(), string(e.InputSchema)}, []any{"x://{a}/{+b*}{?q,r:3}", "a: string, b: string, q?: string, r?: string",
					`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"q":{"type":"string"},"r":{"type":"string"}},"required":["a","b"]}`}
			}},
		{"prompt", Prompt, false, `{"name":"p","arguments":[{"name":"topic","description":"about\u200b what","required":true},{"name":"tone"},{"name":"tone"},{}]}`,
			func(e *Entry) (any, any) {
				return []any{e.Signature(), string(e.InputSchema)}, []any{"topic: string, tone?: string",
					`{"type":"object","properties":{"topic":{"type":"string","description":"about what"},"tone":{"type":"string"}},"required":["topic"]}`}
			}},
		{"last of two keys", Tool, false, `{"name":"a","name":"b"}`, func(e *Entry) (any, any) { return e.Name, "b" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := NewEntry("s", tc.kind, tc.template, json.RawMessage(tc.in))
			if err != nil {
				t.Fatalf("NewEntry error = %v", err)
			}
			if string(e.Raw) != tc.in {
				t.Errorf("Raw = %s, want %s", e.Raw, tc.in)
			}
			got, want := tc.check(e)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEntryShowsItsSchema(t *testing.T) {
	e := &Entry{InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"number"}},"required":["path"]}`)}
	got := []string{e.Signature(), e.SignatureWithin(20), e.Type(), e.Params()[0].Name}
	want := []string{"path: string, n?: number", "path: string, …", "{\n  path: string;\n  n?: number;\n}", "path"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	if got := (&Entry{InputSchema: json.RawMessage("{")}).Type(); got != "any /* … */" {
		t.Errorf("Type of a broken schema = %q", got)
	}
	if e := new(Entry); e.Signature() != "" || e.Type() != "" || e.Params() != nil {
		t.Errorf("without a schema: %q, %q, %v, want nothing", e.Signature(), e.Type(), e.Params())
	}
}

func FuzzReadPage(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a"},{}],"nextCursor":"x"}`))
	f.Add([]byte(` {"t":"\"]","tools" : [ {"name":"\u0061\\"} , 7,[[]],"}"] } `))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := readPage(lists[0], raw)
		if err != nil {
			return
		}
		var parsed struct{ Tools []json.RawMessage }
		var exact map[string]json.RawMessage
		if json.Unmarshal(raw, &exact) == nil && json.Unmarshal(exact["tools"], &parsed.Tools) == nil {
			if !slices.EqualFunc(p.items, parsed.Tools, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
				t.Errorf("readPage(%q) items = %q, want %q", raw, p.items, parsed.Tools)
			}
		}
		c := newCollector("s")
		c.add(lists[0], p.items)
		names := map[string]bool{}
		for _, e := range c.entries {
			if e.Name == "" || names[e.Name] || !bytes.Contains(raw, e.Raw) {
				t.Errorf("entry %q of %q is nameless, double or not as sent", e.Raw, raw)
			}
			names[e.Name] = true
			e.Signature()
		}
	})
}
