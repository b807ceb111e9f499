package serve

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// partFace has one tool and one resource of its name.
type partFace struct {
	Defaults
	name, capabilities string
	paged              bool
}

func (f partFace) Tools(dispatch.Agent) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"name":"` + f.name + `"}`)}
}

func (f partFace) Capabilities(dispatch.Agent) json.RawMessage {
	return json.RawMessage(f.capabilities)
}

func (f partFace) Instructions(dispatch.Agent) string { return "Use " + f.name + "." }

func (f partFace) Call(_ context.Context, c Call) (dispatch.Pieces, error) {
	if c.Name != f.name {
		return nil, errors.New("unknown tool")
	}
	return dispatch.Pieces{[]byte(`{"content":[],"by":"` + f.name + `"}`)}, nil
}

func (f partFace) Handle(_ context.Context, r Request) (dispatch.Pieces, error) {
	switch r.Method {
	case "tools/list":
		if f.paged {
			return dispatch.Pieces{[]byte(`{"tools":[{"name":"` + f.name + `"}],"nextCursor":"2"}`)}, nil
		}
	case "resources/list":
		return dispatch.Pieces{[]byte(`{"resources":["` + f.name + `"]}`)}, nil
	case "resources/read":
		if string(r.Params) != `{"uri":"`+f.name+`"}` {
			return nil, &Fault{Code: -32002, Message: f.name + " has none"}
		}
		return dispatch.Pieces{[]byte(`{"contents":["` + f.name + `"]}`)}, nil
	}
	return nil, ErrNoMethod
}

func TestSeveral(t *testing.T) {
	f := Several(partFace{name: "a", capabilities: `{"resources":{},"x":1}`}, partFace{name: "b", capabilities: `{"resources":{"subscribe":true}}`, paged: true})
	ask := func(method, params string) string {
		said, err := f.Handle(t.Context(), Request{Method: method, Params: json.RawMessage(params)})
		if err != nil {
			return err.Error()
		}
		return string(said.Raw())
	}
	call := func(name string) string {
		said, err := f.Call(t.Context(), Call{Name: name})
		if err != nil {
			return err.Error()
		}
		return string(said.Raw())
	}
	for _, c := range []struct{ name, got, want string }{
		{"capabilities", string(f.Capabilities(dispatch.Agent{})), `{"resources":{"subscribe":true},"x":1}`},
		{"instructions", f.Instructions(dispatch.Agent{}), "Use a.\n\nUse b."},
		{"tool of the first", call("a"), `{"content":[],"by":"a"}`},
		{"tool of the second", call("b"), `{"content":[],"by":"b"}`},
		{"tool of nobody", call("c"), "unknown tool"},
		{"tools", ask("tools/list", `{}`), `{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"2"}`},
		{"resources", ask("resources/list", `{}`), `{"resources":["a","b"]}`},
		{"resource of the second", ask("resources/read", `{"uri":"b"}`), `{"contents":["b"]}`},
		{"resource of nobody", ask("resources/read", `{"uri":"c"}`), "a has none"},
		{"no such method", ask("prompts/get", `{}`), ErrNoMethod.Error()},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
	if n := len(f.Tools(dispatch.Agent{})); n != 2 {
		t.Errorf("got %d tools, want 2", n)
	}
}
