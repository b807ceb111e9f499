package composite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// tools plays the servers: each tool does what its name says, and every call is noted.
type tools struct {
	mu    sync.Mutex
	calls []string
	fails int // calls of s.flaky that still fail
}

type refused struct{ error }

func (refused) Permanent() bool { return true }

func (c *tools) Call(_ context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, tool+string(args))
	switch tool {
	case "s.echo":
		return args, nil
	case "s.list":
		return json.RawMessage(`{"items":[{"id":1,"name":"a"},{"id":2.50,"name":"b"}],"total":2}`), nil
	case "s.fail":
		return nil, errors.New("disk on fire")
	case "s.refuse":
		return nil, refused{errors.New("denied")}
	case "s.flaky":
		if c.fails--; c.fails >= 0 {
			return nil, errors.New("again")
		}
		return json.RawMessage(`"there"`), nil
	}
	return nil, fmt.Errorf("no tool %s", tool)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name  string
		def   Definition
		args  string
		want  string
		fails string
		calls []string
	}{
		{name: "parallel", def: Definition{Parallel: []Step{
			{Name: "one", Tool: "s.echo", Args: raw(`{"text":"{inputs.query}"}`)}, {Name: "two", Tool: "s.list"}}},
			args: `{"query":"x"}`, want: `{"one":{"text":"x"},"two":{"items":[{"id":1,"name":"a"},{"id":2.50,"name":"b"}],"total":2}}`},
		{name: "one fails alone", def: Definition{Parallel: []Step{{Name: "a", Tool: "s.fail"}, {Name: "b", Tool: "s.echo", Args: raw(`{"n":1}`)}}},
			want: `{"a":{"error":"disk on fire"},"b":{"n":1}}`},
		{name: "all fail", def: Definition{Parallel: []Step{{Name: "a", Tool: "s.fail"}, {Name: "b", Tool: "s.fail"}}}, fails: "every step failed"},
		{name: "whole values keep their type", def: Definition{Steps: []Step{{Name: "a", Tool: "s.echo", Args: raw(`{"n":"{inputs.n}","l":["{inputs.l}",1.50],"t":"n is {inputs.n}, l is {inputs.l}, s is {inputs.s}"}`)}}},
			args: `{"n":9007199254740993,"l":[1, 2],"s":"q\"x"}`, want: `{"n":9007199254740993,"l":[[1, 2],1.50],"t":"n is 9007199254740993, l is [1,2], s is q\"x"}`},
		{name: "defaults", def: Definition{Inputs: raw(`{"q":{"type":"string","default":"all"},"n":"integer"}`), Steps: []Step{{Name: "a", Tool: "s.echo", Args: raw(`{"q":"{inputs.q}","n":"{inputs.n|default:10}","t":"<{inputs.n|default:7}>"}`)}}},
			fails: "", want: `{"q":"all","n":10,"t":"<7>"}`},
		{name: "an input not given is left out", def: Definition{Inputs: raw(`{"q":"string"}`), Steps: []Step{{Name: "a", Tool: "s.echo", Args: raw(`{"q":"{inputs.q}","t":"<{inputs.q}>"}`)}}}, want: `{"t":"<>"}`},
		{name: "steps in order", def: Definition{Steps: []Step{{Name: "l", Tool: "s.list"}, {Name: "e", Tool: "s.echo", Args: raw(`{"first":"{steps.l.items.0.name}","second":"{steps.l.items[1].id}"}`)}}},
			want: `{"first":"a","second":2.50}`},
		{name: "a missing path", def: Definition{Steps: []Step{{Name: "l", Tool: "s.list"}, {Name: "e", Tool: "s.echo", Args: raw(`{"x":"{steps.l.itemz}"}`)}}}, fails: `step e: x: steps.l has no "itemz"`},
		{name: "a missing path with a default", def: Definition{Steps: []Step{{Name: "l", Tool: "s.list"}, {Name: "e", Tool: "s.echo", Args: raw(`{"x":"{steps.l.itemz|default:[]}"}`)}}}, want: `{"x":[]}`},
		{name: "when", def: Definition{Steps: []Step{{Name: "l", Tool: "s.list"}, {Name: "a", Tool: "s.fail", When: "{steps.l.total} > 2"}, {Name: "b", Tool: "s.echo", When: "{steps.l.total} >= 2", Args: raw(`{"x":1}`)}}}, want: `{"x":1}`},
		{name: "when an input is given", def: Definition{Inputs: raw(`{"deep":"boolean"}`), Steps: []Step{{Name: "a", Tool: "s.fail", When: "{inputs.deep}"}, {Name: "b", Tool: "s.echo", When: "!{inputs.deep}", Args: raw(`{"a":"{steps.a|default:none}"}`)}}}, want: `{"a":"none"}`},
		{name: "forEach", def: Definition{Steps: []Step{{Name: "l", Tool: "s.list"}, {Name: "e", Tool: "s.echo", ForEach: "{steps.l.items}", Args: raw(`{"n":"{item.name}","i":"{index}"}`)}}},
			want: `[{"n":"a","i":0},{"n":"b","i":1}]`},
		{name: "an optional step", def: Definition{Steps: []Step{{Name: "a", Tool: "s.fail", Optional: true}, {Name: "b", Tool: "s.echo", Args: raw(`{"e":"{steps.a.error}"}`)}}}, want: `{"e":"disk on fire"}`},
		{name: "a failing step ends it", def: Definition{Steps: []Step{{Name: "a", Tool: "s.fail"}, {Name: "b", Tool: "s.echo"}}}, fails: "step a: disk on fire", calls: []string{"s.fail{}"}},
		{name: "output", def: Definition{Steps: []Step{{Name: "l", Tool: "s.list"}}, Output: raw(`{"count":"{steps.l.total}","say":"{{steps.l}} {inputs.q}"}`)}, args: `{"q":"?"}`, want: `{"count":2,"say":"{steps.l}} ?"}`},
		{name: "parallel steps that need each other", def: Definition{Parallel: []Step{{Name: "b", Tool: "s.echo", Args: raw(`{"x":"{steps.a.total}"}`)}, {Name: "a", Tool: "s.list"}}, Output: raw(`"{steps.b.x}"`)}, want: `2`},
		{name: "references in values are data", def: Definition{Steps: []Step{{Name: "a", Tool: "s.echo", Args: raw(`{"q":"{inputs.q}"}`)}}}, args: `{"q":"{steps.x} {inputs.y}"}`, want: `{"q":"{steps.x} {inputs.y}"}`},
		{name: "retry", def: Definition{Steps: []Step{{Name: "a", Tool: "s.flaky", Retry: 2}}}, want: `"there"`, calls: []string{"s.flaky{}", "s.flaky{}", "s.flaky{}"}},
		{name: "no retry of what can't change", def: Definition{Steps: []Step{{Name: "a", Tool: "s.refuse", Retry: 2}}}, fails: "denied", calls: []string{"s.refuse{}"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tool, err := Compile(tc.def)
				if err != nil {
					t.Fatal(err)
				}
				if tc.args == "" {
					tc.args = "{}"
				}
				c := &tools{fails: 2}
				start := time.Now()
				got, err := tool.Run(t.Context(), c, raw(tc.args))
				if tc.fails != "" {
					if err == nil || !strings.Contains(err.Error(), tc.fails) {
						t.Errorf("got %s, %v, want an error with %q", got, err, tc.fails)
					}
				} else if err != nil || string(got) != tc.want {
					t.Errorf("got %s, %v, want %s", got, err, tc.want)
				}
				if tc.calls != nil {
					if diff := cmp.Diff(tc.calls, c.calls); diff != "" {
						t.Error(diff)
					}
				}
				if tc.name == "retry" && time.Since(start) != 600*time.Millisecond {
					t.Errorf("got %v between the tries, want 200 and 400 ms", time.Since(start))
				}
			})
		})
	}
}

func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name string
		def  Definition
		want []string
	}{
		{"nothing to do", Definition{Line: 3}, []string{"3 it has neither"}},
		{"unknown input", Definition{Inputs: raw(`{"query":"string"}`), Steps: []Step{{Name: "a", Tool: "s.t", Args: raw(`{"x":"{inputs.qery}"}`), Line: 7}}}, []string{`7 {inputs.qery}: there is no input "qery"`}},
		{"unknown step", Definition{Steps: []Step{{Name: "a", Tool: "s.t", Args: raw(`{"x":"{steps.b.x}"}`), Line: 7}, {Name: "b", Tool: "s.t", Line: 8}}}, []string{`7 step a.x: {steps.b.x}: there is no step "b" before it`}},
		{"unknown word", Definition{Steps: []Step{{Name: "a", Tool: "s.t", Args: raw(`{"x":"{input.q}"}`), Line: 7}}}, []string{"7 step a.x: {input.q}: a template begins with"}},
		{"a circle", Definition{Parallel: []Step{{Name: "a", Tool: "s.t", Args: raw(`{"x":"{steps.b}"}`), Line: 4}, {Name: "b", Tool: "s.t", Args: raw(`{"x":"{steps.a}"}`), Line: 5}}}, []string{"4 step a waits for itself"}},
		{"one step's circle", Definition{Parallel: []Step{{Name: "a", Tool: "s.t", Args: raw(`{"x":"{steps.a}"}`), Line: 4}}}, []string{"4 step a waits for itself"}},
		{"two of a name", Definition{Steps: []Step{{Name: "a", Tool: "s.t", Line: 1}, {Name: "a", Tool: "s.t", Line: 2}}}, []string{`2 two steps are called "a" (first on line 1)`}},
		{"no tool", Definition{Steps: []Step{{Name: "a", Tool: "t", Line: 1}}}, []string{`1 step a: tool is SERVER.TOOL, not "t"`}},
		{"a default of another type", Definition{Inputs: raw(`{"n":"integer"}`), Steps: []Step{{Name: "a", Tool: "s.t", Args: raw(`{"x":"{inputs.n|default:ten}"}`), Line: 2}}}, []string{`2 input "n" is of type integer, and its default "ten" is not`}},
		{"forEach of a text", Definition{Inputs: raw(`{"n":"string"}`), Steps: []Step{{Name: "a", Tool: "s.t", ForEach: "{inputs.n}", Line: 2}}}, []string{`2 input "n" is of type string, and forEach needs an array`}},
		{"item outside of forEach", Definition{Steps: []Step{{Name: "a", Tool: "s.t", Args: raw(`{"x":"{item}"}`), Line: 2}}}, []string{"2 step a.x: {item} is for a step with forEach"}},
		{"an unknown type", Definition{Inputs: raw(`{"n":"int"}`), Line: 1, Steps: []Step{{Name: "a", Tool: "s.t"}}}, []string{`1 input "n": there is no type "int"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Compile(tc.def)
			problems, _ := errors.AsType[Problems](err)
			if len(problems) != len(tc.want) {
				t.Fatalf("got %v, want %d problems", problems, len(tc.want))
			}
			for i, p := range problems {
				if got := fmt.Sprint(p.Line, " ", p.Msg); !strings.HasPrefix(got, tc.want[i]) {
					t.Errorf("got %q, want %q", got, tc.want[i])
				}
			}
		})
	}
}

func TestEntry(t *testing.T) {
	for _, tc := range []struct{ name, inputs, want string }{
		{"short form", `{"query":{"type":"string","required":true,"description":"words"},"n":"integer"}`, `{"type":"object","properties":{"query":{"type":"string","description":"words"},"n":{"type":"integer"}},"required":["query"]}`},
		{"a schema", `{"type":"object","properties":{"query":{},"n":{"const":1.50}}}`, `{"type":"object","properties":{"query":{},"n":{"const":1.50}}}`},
		{"inferred", ``, `{"type":"object","properties":{"n":{},"query":{}},"required":["query"]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool, err := Compile(Definition{Name: "both", Inputs: raw(tc.inputs), Steps: []Step{{Name: "a", Tool: "s.t", Args: raw(`{"x":"{inputs.query}","y":"{inputs.n|default:1}"}`)}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(rawjson.Member(tool.Definition(), "inputSchema")); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	tool, err := Compile(Definition{Inputs: raw(`{"q":"string","n":"integer"}`), Parallel: []Step{
		{Name: "a", Tool: "s.search", Args: raw(`{"text":"{inputs.q}","limit":"{inputs.q}","top":1}`), Line: 4},
		{Name: "b", Tool: "s.search", Args: raw(`{"limit":"{inputs.n}"}`), Line: 5},
		{Name: "c", Tool: "s.gone", Line: 6},
		{Name: "d", Tool: "s.search", Args: raw(`{"text":"{steps.b.x}","limit":2}`), Line: 7},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := tool.Check(func(tool string) (json.RawMessage, string) {
		if tool == "s.gone" {
			return nil, "calls s.gone, which is not there"
		}
		return raw(`{"properties":{"text":{"type":"string"},"limit":{"type":["integer","null"]}},"required":["text"]}`), ""
	})
	want := Problems{
		{4, `step a: s.search takes limit as ["integer","null"], not string`}, {4, `step a: s.search has no parameter "top"`},
		{5, `step b: s.search needs "text"`}, {6, "step c calls s.gone, which is not there"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzTemplate holds that a text that is no template stays as it is, and that what is cut is put together again.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{inputs.x|default:10}", "{{inputs.x}", "a {steps.y.path[0].z} b", "{", "{}", `{"a":1}`, "{item}{index}", "{inputs.x|default:}", "{inputs.}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		segments, err := parseText(text)
		if err != nil {
			return
		}
		s := &scope{inputs: map[string]json.RawMessage{}, steps: map[string]json.RawMessage{}}
		plain := true
		for _, seg := range segments {
			plain = plain && seg.ref == nil
		}
		filled, err := fillText(segments, s)
		if err != nil || filled != nil && !json.Valid(filled) {
			if err == nil {
				t.Errorf("%q gives %s", text, filled)
			}
			return
		}
		if plain && !strings.Contains(text, "{{") && utf8.ValidString(text) && rawjson.Unquote(filled) != text {
			t.Errorf("%q reads %q", text, rawjson.Unquote(filled))
		}
		for _, seg := range segments {
			if seg.ref == nil {
				continue
			}
			again, err := parseText(seg.ref.String())
			if err != nil || len(again) != 1 || again[0].ref == nil || again[0].ref.root != seg.ref.root {
				t.Errorf("%q is written %q, which is not one template (%v)", text, seg.ref, err)
			}
		}
	})
}
