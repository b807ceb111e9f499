package dispatch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// askAs uses the one tool as an agent.
func askAs(t *testing.T, d *Dispatcher, a Agent, in string) gjson.Result {
	t.Helper()
	raw := d.Handle(t.Context(), Input{Agent: a, Arguments: json.RawMessage(in)}).Raw()
	if !gjson.ValidBytes(raw) {
		t.Fatalf("got %s, which is no JSON", raw)
	}
	return gjson.ParseBytes(raw)
}

// narrowed is a house with two views, and principals with rights of their own.
func narrowed(o *Options) {
	o.Views = map[string]view.Definition{
		"small": {Description: "Says things.", Exposure: view.Dispatch, Tools: []view.ServerTools{{Server: "main", Tools: []view.Tool{{Match: "echo"}, {Match: "ro*"}}}}},
		"most":  {IncludeAll: true, ExcludeServers: []string{"other", "broken"}, Tools: []view.ServerTools{{Server: "main", Tools: []view.Tool{{Match: "fail", Disabled: true}}}}},
		"notes": {Resources: map[string][]string{"main": {"mem://note*"}}, Prompts: map[string][]string{"main": {"greet"}}},
	}
	o.Rights = func(a Agent) (view.Rules, bool) {
		switch a.Principal {
		case "reader":
			return view.Rules{ReadOnly: true, Only: []string{"ma*"}}, true
		case "guest":
			return view.Rules{Views: []string{"s*"}}, true
		}
		return view.Rules{}, false
	}
}

func TestLensShowsWhatItShould(t *testing.T) {
	d, _ := newHouse(t, narrowed)
	for _, tc := range []struct {
		name  string
		agent Agent
		want  []string
	}{
		{"no view", Agent{}, []string{"main/echo", "main/args", "main/exact", "main/rows", "main/find", "main/paged", "main/fail", "main/refuse", "main/hang", "main/picture", "main/shared", "other/shared"}},
		{"a few tools", Agent{View: "small"}, []string{"main/echo", "main/rows"}},
		{"all but some", Agent{View: "most"}, []string{"main/echo", "main/args", "main/exact", "main/rows", "main/find", "main/paged", "main/refuse", "main/hang", "main/picture", "main/shared"}},
		{"rights", Agent{Principal: "reader"}, []string{"main/echo", "main/paged"}},
		{"rights within a view", Agent{Principal: "reader", View: "small"}, []string{"main/echo"}},
		{"a view the principal may use", Agent{Principal: "guest", View: "small"}, []string{"main/echo", "main/rows"}},
		{"one it may not", Agent{Principal: "guest", View: "most"}, nil},
		{"nor none", Agent{Principal: "guest"}, nil},
		{"a view that is not configured", Agent{View: "smal"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, e := range d.Seen(tc.agent).Entries("", "tool") {
				got = append(got, e.Ref.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLensHidesLikeNothing holds that what a lens hides is answered, word by word, as what never was.
func TestLensHidesLikeNothing(t *testing.T) {
	d, h := newHouse(t, narrowed)
	for _, in := range []string{
		`{"action":"call","tool":"NAME"}`,
		`{"action":"call","tool":"main/NAME"}`,
		`{"action":"call","tool":"c1/NAME"}`,
		`{"action":"call","tool":"main__NAME","arguments":{"x":1}}`,
		`{"action":"call","tool":"main::NAME"}`,
		`{"action":"call","tool":"main.NAME"}`,
		`{"action":"call","tool":"NAME","connection":"main"}`,
		`{"action":"call","tool":"default/NAME","dryRun":true}`,
		`{"action":"describe","tool":"NAME"}`,
		`{"action":"describe","tool":"primary/NAME"}`,
		`{"action":"batch","calls":[{"tool":"NAME"}]}`,
		`{"action":"call","type":"resource","tool":"NAME"}`,
		`{"action":"call","type":"resource","tool":"NAME","connection":"main"}`,
		`{"action":"call","type":"prompt","tool":"NAME"}`,
		`{"action":"search","query":"NAME"}`,
		`{"action":"list","query":"NAME"}`,
		`{"action":"call","tool":"NAME/x"}`,
		`{"action":"describe","connection":"NAME"}`,
		`{"action":"list","connection":"NAME"}`,
		`{"action":"search","query":"x","connection":"NAME"}`,
		`{"action":"call","tool":"x","connection":"NAME"}`,
	} {
		for _, hidden := range []string{"exact", "shared", "secret_wipe", "paged", "mem://note", "greet", "other", "broken"} {
			never := strings.Repeat("q", len(hidden)) // as far from every seen name, and as long
			got := askAs(t, d, Agent{View: "small"}, strings.ReplaceAll(in, "NAME", hidden)).Raw
			want := askAs(t, d, Agent{View: "small"}, strings.ReplaceAll(in, "NAME", never)).Raw
			if diff := cmp.Diff(strings.ReplaceAll(want, never, hidden), got); diff != "" {
				t.Errorf("%s differs for %s (-never +hidden):\n%s", in, hidden, diff)
			}
		}
	}
	if h.sent() != 0 {
		t.Errorf("got %d requests to servers, want none", h.sent())
	}
}

func TestLensIsWholeWorld(t *testing.T) {
	d, _ := newHouse(t, narrowed)
	small := Agent{View: "small", Session: "s"}
	for _, tc := range []struct {
		name, in string
		want     []string
		not      []string
	}{
		{"list", `{"action":"list"}`, []string{"main (c1) [ready] 2 tools"}, []string{"other", "broken", "exact"}},
		{"list as JSON", `{"action":"list","format":"json"}`, []string{`"totalConnections":1`}, []string{"other", "broken", "exact"}},
		{"status", `{"action":"status"}`, []string{"1 connections", "2 tools"}, []string{"broken"}},
		{"search", `{"action":"search","query":"wipe shared rows exact"}`, []string{"main/rows"}, []string{"shared", "exact:", "main/exact", "broken"}},
		{"resources", `{"action":"list","type":"resource"}`, nil, []string{"mem://"}},
		{"unknown connection", `{"action":"list","connection":"nope"}`, []string{"Connections: main"}, []string{"other"}},
		{"instructions of a server", `{"action":"describe","connection":"main"}`, []string{"2 tools"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := askAs(t, d, small, tc.in)
			for _, w := range tc.want {
				if !strings.Contains(said(got), w) {
					t.Errorf("got %q, want it to hold %q", said(got), w)
				}
			}
			for _, w := range tc.not {
				if strings.Contains(got.Raw, w) {
					t.Errorf("got %s, want it without %q", got.Raw, w)
				}
			}
		})
	}
	t.Run("definition and instructions", func(t *testing.T) {
		both := string(d.Definition(small)) + d.Instructions(small)
		if !strings.Contains(both, "Connections: main") || !strings.Contains(both, "Says things.") {
			t.Errorf("got %s, want the view's own", both)
		}
		if strings.Contains(both, "other") && strings.Contains(both, "broken") {
			t.Errorf("got %s, want it without the other connections", both)
		}
	})
}

func TestLensOfOthersResults(t *testing.T) {
	d, _ := newHouse(t, narrowed)
	kept := askAs(t, d, Agent{Session: "s"}, `{"action":"call","tool":"exact","resultToFile":true}`)
	handle, path := kept.Get(`_meta.proxy-dispatch.handle`).String(), d.o.Shelf
	if handle == "" || path == nil {
		t.Fatalf("got %s, want a handle", kept.Raw)
	}
	for _, in := range []string{
		`{"action":"readresult","resultFile":"` + handle + `"}`,
		`{"action":"call","tool":"echo","arguments":{"message":{"$from":"` + handle + `"}}}`,
		`{"action":"call","tool":"echo","argumentsFile":"` + handle + `"}`,
	} {
		if got := askAs(t, d, Agent{View: "small", Session: "s"}, in); !strings.Contains(said(got), "not_found") {
			t.Errorf("%s: got %s, want not_found", in, said(got))
		}
	}
}

func TestLensesAreBounded(t *testing.T) {
	d, _ := newHouse(t, func(o *Options) {
		o.Rights = func(a Agent) (view.Rules, bool) { return view.Rules{Deny: []string{a.Principal}}, true }
	})
	for i := range maxLenses + 40 {
		a := Agent{Principal: strings.Repeat("p", i+1)}
		if got := len(d.Seen(a).Entries("", "tool")); got == 0 {
			t.Fatal("got no tools")
		}
		if i < 3*maxIndexes {
			askAs(t, d, a, `{"action":"search","query":"say a message"}`)
		}
	}
	if got := len(d.book.Load().lenses.all); got != maxLenses {
		t.Errorf("got %d lenses, want %d", got, maxLenses)
	}
	if got := len(d.book.Load().lenses.indexed); got != maxIndexes {
		t.Errorf("got %d indexes, want %d", got, maxIndexes)
	}
}
