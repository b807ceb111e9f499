package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

const searchTool = `{"name":"search_long_term_memory","x-vendor":{"b":1,"a":2.50},"description":"Search for memories.",` +
	`"inputSchema":{"type":"object","x-order":[3,1],"properties":{"text":{"type":"string","description":"The query"},"namespace":{"type":"object"},"limit":{"type":"integer","default":10}},` +
	`"required":["text","namespace"],"additionalProperties":true}}`

func TestReshape(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rule  Tool
		want  string // the whole entry; "" means the server's own
		fault bool
	}{
		{name: "nothing", rule: Tool{Match: "search_long_term_memory"}},
		{name: "its own name", rule: Tool{Name: "search_long_term_memory"}},
		{name: "rename", rule: Tool{Name: "search_knowledge"},
			want: `{"name":"search_knowledge","x-vendor":{"b":1,"a":2.50},"description":"Search for memories.","inputSchema":{"type":"object","x-order":[3,1],"properties":{"text":{"type":"string","description":"The query"},"namespace":{"type":"object"},"limit":{"type":"integer","default":10}},"required":["text","namespace"],"additionalProperties":true}}`},
		{name: "describe", rule: Tool{Description: "Knowledge.\n{original}\n", Parameters: []Parameter{{Match: "namespace", Hide: true}, {Match: "text", Rename: "query", Description: "{original}, in words"}, {Match: "limit", Default: json.RawMessage("5")}}},
			want: `{"name":"search_long_term_memory","x-vendor":{"b":1,"a":2.50},"description":"Knowledge.\nSearch for memories.","inputSchema":{"type":"object","x-order":[3,1],"properties":{"query":{"type":"string","description":"The query, in words"},"limit":{"type":"integer","default":5}},"required":["query"],"additionalProperties":true}}`},
		{name: "a value hides", rule: Tool{Parameters: []Parameter{{Match: "text", Value: json.RawMessage(`"x"`)}, {Match: "namespace", Default: json.RawMessage(`{}`)}}},
			want: `{"name":"search_long_term_memory","x-vendor":{"b":1,"a":2.50},"description":"Search for memories.","inputSchema":{"type":"object","x-order":[3,1],"properties":{"namespace":{"type":"object","default":{}},"limit":{"type":"integer","default":10}},"additionalProperties":true}}`},
		{name: "an unknown parameter is a fault, the rest holds", fault: true, rule: Tool{Name: "n", Parameters: []Parameter{{Match: "txt", Hide: true}}},
			want: `{"name":"n","x-vendor":{"b":1,"a":2.50},"description":"Search for memories.","inputSchema":{"type":"object","x-order":[3,1],"properties":{"text":{"type":"string","description":"The query"},"namespace":{"type":"object"},"limit":{"type":"integer","default":10}},"required":["text","namespace"],"additionalProperties":true}}`},
		{name: "two of one name", fault: true, want: "none", rule: Tool{Parameters: []Parameter{{Match: "text", Rename: "limit"}}}},
		{name: "two renamed to one", fault: true, want: "none", rule: Tool{Parameters: []Parameter{{Match: "text", Rename: "q"}, {Match: "limit", Rename: "q"}}}},
		{name: "names swapped", rule: Tool{Parameters: []Parameter{{Match: "text", Rename: "limit"}, {Match: "limit", Rename: "text"}}},
			want: `{"name":"search_long_term_memory","x-vendor":{"b":1,"a":2.50},"description":"Search for memories.","inputSchema":{"type":"object","x-order":[3,1],"properties":{"limit":{"type":"string","description":"The query"},"namespace":{"type":"object"},"text":{"type":"integer","default":10}},"required":["limit","namespace"],"additionalProperties":true}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own, err := catalog.NewEntry("redis", catalog.Tool, false, json.RawMessage(searchTool))
			if err != nil {
				t.Fatal(err)
			}
			e, _, err := reshape(own, tc.rule)
			if (err != nil) != tc.fault {
				t.Errorf("got error %v, want one: %v", err, tc.fault)
			}
			got := "none"
			if e == own {
				got = ""
			} else if e != nil {
				got = string(e.Raw)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReshapeAlternatives(t *testing.T) {
	rules := []Parameter{{Match: "a", Rename: "x"}, {Match: "b", Hide: true}, {Match: "c", Value: json.RawMessage("1")}}
	for _, tc := range []struct{ name, in, want string }{
		{"anyOf", `{"anyOf":[{"required":["a"]},{"required":["b","d"]},{"properties":{"c":{}},"required":["c"]}]}`, `{"anyOf":[{"required":["x"]},{"required":["d"]},{"properties":{}}]}`},
		{"dependencies", `{"dependentRequired":{"a":["b","d"],"c":["a"]},"dependentSchemas":{"a":{"required":["a"]}}}`, `{"dependentRequired":{"x":["d"]},"dependentSchemas":{"x":{"required":["x"]}}}`},
		{"if then", `{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}`, `{"if":{"properties":{"x":{"const":1}}},"then":{}}`},
		{"below the root nothing changes", `{"properties":{"d":{"properties":{"a":{},"b":{}},"required":["a","b"]}}}`, `{"properties":{"d":{"properties":{"a":{},"b":{}},"required":["a","b"]}}}`},
		{"no object", `true`, `true`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := reshapeSchema(json.RawMessage(tc.in), rules)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestBinding(t *testing.T) {
	b, err := newBinding([]Parameter{{Match: "text", Rename: "query"}, {Match: "ns", Value: json.RawMessage(`{"eq":"docs"}`)}, {Match: "limit", Default: json.RawMessage("5")},
		{Match: "secret", Hide: true}, {Match: "mode", Hide: true, Default: json.RawMessage(`"a"`)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, in, want string }{
		{"renamed, bound, defaulted", `{"query":"x"}`, `{"text":"x","limit":5,"mode":"a","ns":{"eq":"docs"}}`},
		{"a default given", `{"limit":1.50,"query":"x"}`, `{"limit":1.50,"text":"x","mode":"a","ns":{"eq":"docs"}}`},
		{"what is hidden is dropped", `{"query":"x","ns":1,"NS":2,"Secret":3,"text":"y","mode":"b"}`, `{"text":"x","limit":5,"mode":"a","ns":{"eq":"docs"}}`},
		{"nothing", `{}`, `{"limit":5,"mode":"a","ns":{"eq":"docs"}}`},
		{"others pass", `{"z":{"query":1},"query":9007199254740993}`, `{"z":{"query":1},"text":9007199254740993,"limit":5,"mode":"a","ns":{"eq":"docs"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(b.Apply(json.RawMessage(tc.in))); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	if b, err := newBinding([]Parameter{{Match: "a", Description: "words only"}}); b != nil || err != nil {
		t.Errorf("got %v, %v, want no binding", b, err)
	}
}

func TestLensNames(t *testing.T) {
	def := Definition{IncludeAll: true, Tools: []ServerTools{
		{Server: "files", Tools: []Tool{{Match: "read", Name: "open", Aliases: []string{"cat"}, Also: []Tool{{Name: "peek", Description: "A look."}}}, {Match: "adm*", Disabled: true}}},
		{Server: "mail", Tools: []Tool{{Match: "send", Name: "read"}}},
	}}
	policy, _ := Compile(Rules{Deny: []string{"mail/draft"}})
	l, err := NewLens(policy, nil, &def)
	if err != nil {
		t.Fatal(err)
	}
	v := l.Over(snapshot(t))
	var got []string
	for _, e := range v.Entries("", catalog.Tool) {
		got = append(got, e.Ref.String()+" = "+v.Origin(e).Entry.Name)
	}
	want := []string{"files/open = read", "files/peek = read", "files/write = write", "files/mail__draft = mail__draft", "mail/read = send", "my.server/tool.one = tool.one", "my.server/x = x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]catalog.Ref{{Server: "mail", Kind: catalog.Tool, Name: "read"}}, v.Conflicts); diff != "" {
		t.Errorf("conflicts: %s", diff)
	}
	for in, want := range map[string]string{"cat": "files/open", "files/cat": "files/open", "peek": "files/peek", "files/read": "", "c1/admin/wipe": "", "read": "mail/read", "send": "", "mail__draft": "files/mail__draft"} {
		e, err := v.Resolve(catalog.Tool, in, "")
		if want == "" && err == nil || want != "" && (err != nil || e.Ref.String() != want) {
			t.Errorf("%s: got %v, %v, want %q", in, e, err, want)
		}
	}
}

// FuzzBinding holds that whatever an agent sends, what the view binds is what the server gets, once and last.
func FuzzBinding(f *testing.F) {
	for _, s := range []string{`{}`, `{"ns":1}`, `{"query":"x","NS":{"a":[1,2]}}`, `{"\u006es":1}`, `[]`, ``} {
		f.Add(s)
	}
	b, err := newBinding([]Parameter{{Match: "text", Rename: "query"}, {Match: "ns", Value: json.RawMessage(`"docs"`)}, {Match: "secret", Hide: true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			return
		}
		out := b.Apply(json.RawMessage(in))
		var got map[string]json.RawMessage
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q gives %s: %v", in, out, err)
		}
		if string(got["ns"]) != `"docs"` || got["secret"] != nil || got["query"] != nil {
			t.Errorf("%q gives %s", in, out)
		}
	})
}

// FuzzReshape holds that a rewritten schema is JSON and names no hidden parameter at its root.
func FuzzReshape(f *testing.F) {
	f.Add(`{"properties":{"a":{},"b":true},"required":["a","b"]}`, "a", "q", "words {original}")
	f.Add(`{"anyOf":[{"required":["a"]}],"dependencies":{"a":["b"],"b":{"required":["a"]}}}`, "b", "", "")
	f.Fuzz(func(t *testing.T, schema, name, rename, description string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		for _, rule := range []Parameter{{Match: name, Rename: rename, Description: description, Default: json.RawMessage("1")}, {Match: name, Hide: true}} {
			out, _, err := reshapeSchema(json.RawMessage(schema), []Parameter{rule})
			if err != nil {
				continue
			}
			if !json.Valid(out) {
				t.Fatalf("got %s of %s", out, schema)
			}
			var root struct {
				Properties map[string]json.RawMessage
				Required   []string
			}
			if !rule.Hide || json.Unmarshal(out, &root) != nil {
				continue
			}
			if _, there := root.Properties[name]; there || slices.Contains(root.Required, name) {
				t.Errorf("%s still names %q", out, fmt.Sprint(name))
			}
		}
	})
}
