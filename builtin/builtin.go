// Package builtin holds small MCP servers that live in the binary.
package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const version = "1.0.0"

// tool is one tool: what an agent is told of it, and what it does. A run
// returns a string (given as text) or a value that becomes structured content;
// its error is told to the agent as the tool's own.
type tool struct {
	name, title, description string
	input, output            string // JSON Schemas; output may be ""
	readOnly                 bool
	destructive              bool
	run                      func(ctx context.Context, args json.RawMessage) (any, error)
}

func newServer(name, title, instructions string, tools []tool) *server.MCPServer {
	s := server.NewMCPServer(name, version,
		server.WithTitle(title), server.WithInstructions(instructions), server.WithToolCapabilities(false), server.WithRecovery())
	for _, t := range tools {
		s.AddTool(t.definition(), t.handle)
	}
	return s
}

func (t tool) definition() mcp.Tool {
	no := false
	def := mcp.NewToolWithRawSchema(t.name, t.description, compact(t.input))
	def.Title = t.title
	if t.output != "" {
		def.RawOutputSchema = compact(t.output)
	}
	def.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &t.readOnly, DestructiveHint: &t.destructive, OpenWorldHint: &no}
	if t.readOnly {
		yes := true
		def.Annotations.IdempotentHint = &yes
	}
	return def
}

func (t tool) handle(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := req.Params.RawArguments
	if len(args) == 0 {
		var err error
		if args, err = json.Marshal(req.GetRawArguments()); err != nil {
			return mcp.NewToolResultErrorf("arguments: %v", err), nil
		}
	}
	out, err := t.run(ctx, args)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	if text, ok := out.(string); ok {
		return mcp.NewToolResultText(text), nil
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write result of %s: %w", t.name, err)
	}
	return mcp.NewToolResultStructured(json.RawMessage(data), string(data)), nil
}

// compact panics on a schema of ours that is no JSON.
func compact(schema string) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(schema)); err != nil {
		panic(fmt.Sprintf("schema %s: %v", schema, err))
	}
	return b.Bytes()
}

// read takes the arguments apart; a key that the tool lacks is an error.
func read[T any](args json.RawMessage) (T, error) {
	var v T
	if len(args) == 0 || string(args) == "null" {
		return v, nil
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return v, fmt.Errorf("%s must not be a %s", spelled(wrong.Field), wrong.Value)
		}
		return v, fmt.Errorf("arguments: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return v, errors.New("arguments: more than one JSON value")
	}
	return v, nil
}

// spelled turns a path of Go field names into the argument's own spelling.
func spelled(field string) string {
	parts := strings.Split(field, ".")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToLower(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, ".")
}
