package serve

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

type oneTool struct{ got dispatch.Input }

func (o *oneTool) Handle(_ context.Context, in dispatch.Input) dispatch.Pieces {
	o.got = in
	return dispatch.Pieces{[]byte(`{"content":[]}`)}
}
func (o *oneTool) Definition() json.RawMessage { return json.RawMessage(`{"name":"proxy-dispatch"}`) }
func (o *oneTool) Instructions() string        { return "search first" }

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
