package builtin

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"
)

// answer is what a test looks at of a tool's result.
type answer struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

func (a answer) text() string {
	if len(a.Content) == 0 {
		return ""
	}
	return a.Content[0].Text
}

// ask sends one raw request through the server and decodes its result.
func ask(t testing.TB, s *server.MCPServer, method string, params any, into any) {
	t.Helper()
	msg, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(s.HandleMessage(context.Background(), msg))
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(out, &reply); err != nil {
		t.Fatal(err)
	}
	if reply.Error != nil {
		t.Fatalf("%s: %s", method, reply.Error)
	}
	if err := json.Unmarshal(reply.Result, into); err != nil {
		t.Fatal(err)
	}
}

// call calls a tool; args is a JSON object.
func call(t testing.TB, s *server.MCPServer, tool, args string) answer {
	t.Helper()
	var a answer
	ask(t, s, "tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(args)}, &a)
	return a
}

type listed struct {
	Name, Description string
	InputSchema       struct {
		Type                 string
		Properties           map[string]property
		Required             []string
		AdditionalProperties *bool
	}
	Annotations struct{ ReadOnlyHint, DestructiveHint, OpenWorldHint *bool }
}

type property struct {
	Type, Description string
	Enum              []string
	Properties        map[string]property
}

func TestDefinitions(t *testing.T) {
	utils, err := Utils(UtilsOptions{Roots: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := Dataset(DatasetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*server.MCPServer{"utils": utils, "dataset": data} {
		var out struct{ Tools []listed }
		ask(t, s, "tools/list", map[string]any{}, &out)
		if len(out.Tools) != 4 {
			t.Errorf("%s has %d tools, want 4", name, len(out.Tools))
		}
		for _, tool := range out.Tools {
			t.Run(tool.Name, func(t *testing.T) { checkDefinition(t, tool) })
		}
		var hello struct{ Instructions string }
		ask(t, s, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}}, &hello)
		if hello.Instructions == "" {
			t.Errorf("%s has no instructions", name)
		}
	}
}

func checkDefinition(t *testing.T, tool listed) {
	in := tool.InputSchema
	if in.Type != "object" || in.AdditionalProperties == nil || *in.AdditionalProperties {
		t.Errorf("input schema is %+v, want a closed object", in)
	}
	for name, p := range in.Properties {
		if p.Type == "" || p.Description == "" {
			t.Errorf("property %s lacks type or description", name)
		}
	}
	a := tool.Annotations
	if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil {
		t.Fatalf("annotations incomplete: %+v", a)
	}
	if modifies := tool.Name == "filesystemModify"; *a.ReadOnlyHint == modifies || *a.DestructiveHint != modifies || *a.OpenWorldHint {
		t.Errorf("dishonest annotations: readOnly %v destructive %v openWorld %v", *a.ReadOnlyHint, *a.DestructiveHint, *a.OpenWorldHint)
	}
}

// The arguments a schema names are the ones the tool takes, and no others.
func TestSchemasMatchArguments(t *testing.T) {
	for _, tc := range []struct {
		name, schema string
		read         func(json.RawMessage) error
	}{
		{"filesystemQuery", querySchema, func(b json.RawMessage) error { _, err := read[queryArgs](b); return err }},
		{"filesystemModify", modifySchema, func(b json.RawMessage) error { _, err := read[modifyArgs](b); return err }},
		{"get_current_time", timeSchema, func(b json.RawMessage) error { _, err := read[timeArgs](b); return err }},
		{"init", initSchema, func(b json.RawMessage) error { _, err := read[initArgs](b); return err }},
		{"query_rows", queryRowsSchema, func(b json.RawMessage) error { _, err := read[queryRowsArgs](b); return err }},
		{"aggregate_rows", aggregateSchema, func(b json.RawMessage) error { _, err := read[aggregateArgs](b); return err }},
		{"log_lines", logSchema, func(b json.RawMessage) error { _, err := read[logArgs](b); return err }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s struct{ Properties map[string]property }
			if err := json.Unmarshal([]byte(tc.schema), &s); err != nil {
				t.Fatal(err)
			}
			for name := range s.Properties {
				if err := tc.read(json.RawMessage(`{"` + name + `":null}`)); err != nil {
					t.Errorf("argument %s is refused: %v", name, err)
				}
			}
			if err := tc.read(json.RawMessage(`{"nonsense":1}`)); err == nil {
				t.Error("an unknown argument is taken")
			}
		})
	}
}

func TestEnumsMatchData(t *testing.T) {
	var s struct{ Properties map[string]property }
	if err := json.Unmarshal([]byte(queryRowsSchema), &s); err != nil {
		t.Fatal(err)
	}
	f := s.Properties["filter"].Properties
	if got, want := strings.Join(f["country"].Enum, " "), strings.Join(countries, " "); got != want {
		t.Errorf("countries in the schema %s, want %s", got, want)
	}
	if got, want := strings.Join(f["status"].Enum, " "), strings.Join(statuses, " "); got != want {
		t.Errorf("statuses in the schema %s, want %s", got, want)
	}
}
