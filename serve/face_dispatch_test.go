package serve

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

type oneTool struct{ got dispatch.Input }

func (o *oneTool) Handle(_ context.Context, in dispatch.Input) dispatch.Pieces {
	o.got = in
	return dispatch.Pieces{[]byte(`{"content":[]}`)}
}
func (o *oneTool) Definition(dispatch.Agent) json.RawMessage {
	return json.RawMessage(`{"name":"proxy-dispatch"}`)
}
func (o *oneTool) ReadResource(_ context.Context, _ dispatch.Agent, uri string) (json.RawMessage, error) {
	if uri != "spill://r1ab?op=head" {
		return nil, &dispatch.Error{Code: dispatch.NotFound, Message: "there is no " + uri}
	}
	return json.RawMessage(`{"contents":[]}`), nil
}
func (o *oneTool) Instructions(dispatch.Agent) string { return "search first" }

func TestDispatchFace(t *testing.T) {
	tool := &oneTool{}
	face := DispatchFace(tool)
	if got := face.Tools(dispatch.Agent{}); len(got) != 1 || string(got[0]) != `{"name":"proxy-dispatch"}` {
		t.Errorf("tools: got %s", got)
	}
	if _, err := face.Call(t.Context(), Call{Name: "other"}); err == nil {
		t.Error("another tool: got nil, want an error")
	}
	call := Call{Agent: dispatch.Agent{Client: "c"}, Name: "proxy-dispatch", Arguments: json.RawMessage(`{"action":"status"}`), Meta: json.RawMessage(`{"a":1}`)}
	if got, err := face.Call(t.Context(), call); err != nil || string(got.Raw()) != `{"content":[]}` {
		t.Errorf("call: got %s, %v", got, err)
	}
	want := dispatch.Input{Agent: call.Agent, Arguments: call.Arguments, Meta: call.Meta}
	if diff := cmp.Diff(want, tool.got); diff != "" {
		t.Errorf("input differs (-want +got):\n%s", diff)
	}
}

// TestKeptResources: kept results are resources of the face.
func TestKeptResources(t *testing.T) {
	face := DispatchFace(&oneTool{})
	if got := string(face.Capabilities(dispatch.Agent{})); got != `{"logging":{},"resources":{}}` {
		t.Errorf("capabilities: got %s", got)
	}
	for _, tc := range []struct {
		name, method, params, want string
		code                       int
	}{
		{name: "a part", method: "resources/read", params: `{"uri":"spill://r1ab?op=head"}`, want: `{"contents":[]}`},
		{name: "another", method: "resources/read", params: `{"uri":"spill://r2ab"}`, code: -32002},
		{name: "no URI", method: "resources/read", params: `{}`, code: -32002},
		{name: "a list of none", method: "resources/list", want: `{"resources":[]}`},
		{name: "templates", method: "resources/templates/list", want: `{"resourceTemplates":[` + string(dispatch.KeptTemplate()) + `]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := face.Handle(t.Context(), Request{Method: tc.method, Params: json.RawMessage(tc.params)})
			if f, ok := errors.AsType[*Fault](err); ok != (tc.code != 0) || ok && f.Code != tc.code {
				t.Fatalf("got error %v, want code %d", err, tc.code)
			}
			if err == nil && string(got.Raw()) != tc.want {
				t.Errorf("got %s, want %s", got.Raw(), tc.want)
			}
		})
	}
	if _, err := face.Handle(t.Context(), Request{Method: "prompts/list"}); !errors.Is(err, ErrNoMethod) {
		t.Errorf("prompts/list: got %v, want ErrNoMethod", err)
	}
}
