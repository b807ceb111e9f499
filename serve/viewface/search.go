package viewface

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// searchFace shows three tools, or three for each server: to search, to describe, to call.
type searchFace struct {
	base
	perServer bool
}

// The tools of a search face, by the end of their names.
const (
	searchTool   = "search_tools"
	describeTool = "describe_tool"
	callTool     = "call_tool"
)

// group is a set of these tools.
type group struct {
	prefix     string // of their names
	connection string // that they are for; "" is all
	about      string
}

// groups are those that an agent sees. They depend on the configuration only.
func (f *searchFace) groups(a dispatch.Agent) []group {
	if !f.perServer {
		return []group{{prefix: f.o.View, about: "the " + f.o.View + " view"}}
	}
	var out []group
	for _, s := range f.o.Dispatcher.Seen(a).Snapshot.Servers {
		out = append(out, group{prefix: f.o.View + "_" + s.Name, connection: s.Name, about: s.Name + " in the " + f.o.View + " view"})
	}
	return out
}

// Tools are three for each group.
func (f *searchFace) Tools(a dispatch.Agent) []json.RawMessage {
	out := []json.RawMessage{}
	for _, g := range f.groups(a) {
		about := catalog.Clean(g.about)
		if d := strings.TrimSpace(f.o.Definition.Description); d != "" && g.connection == "" {
			about += " (" + strings.TrimSuffix(d, ".") + ")"
		}
		out = append(out,
			entry(g.name(searchTool), "Search for available tools in "+about+". Returns matching tools with their descriptions and parameters.",
				`{"type":"object","properties":{"query":{"type":"string","description":"what you want to do, in plain words; empty lists all"},"limit":{"type":"integer"},"format":{"type":"string","enum":["compact","json"]}}}`, true),
			entry(g.name(describeTool), "Show the full parameters of a tool of "+catalog.Clean(g.about)+", with an example.",
				`{"type":"object","properties":{"tool":{"type":"string"}},"required":["tool"]}`, true),
			entry(g.name(callTool), "Call a tool of "+catalog.Clean(g.about)+" by its name, as "+g.name(searchTool)+" shows it.",
				`{"type":"object","properties":{"tool":{"type":"string"},"arguments":{"type":"object"}},"required":["tool"]}`, false))
	}
	if f.o.Definition.Spill {
		out = append(out, readDefinition)
	}
	return out
}

func (g group) name(tool string) string { return safeName(g.prefix + "_" + tool) }

func entry(name, description, schema string, reads bool) json.RawMessage {
	annotations := ""
	if reads {
		annotations = `,"annotations":{"readOnlyHint":true}`
	}
	return json.RawMessage(`{"name":` + string(rawjson.Quote(name)) + `,"description":` + string(rawjson.Quote(description)) + `,"inputSchema":` + schema + annotations + `}`)
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// maxName is the longest name of a tool that hosts take.
const maxName = 64

// safeName makes a name that every host takes; of a longer one the end is a hash.
func safeName(name string) string {
	out := unsafe.ReplaceAllString(name, "_")
	if len(out) <= maxName {
		return out
	}
	sum := sha256.Sum256([]byte(name))
	return out[:maxName-7] + "_" + hex.EncodeToString(sum[:3])
}

// Call runs one of the tools.
func (f *searchFace) Call(ctx context.Context, c serve.Call) (dispatch.Pieces, error) {
	if f.o.Definition.Spill && c.Name == readTool {
		return f.read(ctx, c), nil
	}
	for _, g := range f.groups(c.Agent) {
		switch c.Name {
		case g.name(searchTool):
			return f.search(ctx, c, g)
		case g.name(describeTool):
			return f.describe(ctx, c, g)
		case g.name(callTool):
			in, err := readInput(c.Arguments)
			if err != nil {
				return failed(err)
			}
			return f.call(ctx, c, in.tool, g.connection, in.arguments)
		}
	}
	return nil, fmt.Errorf("unknown tool %q", c.Name)
}

// search answers in lines, or as the list of what was found.
func (f *searchFace) search(ctx context.Context, c serve.Call, g group) (dispatch.Pieces, error) {
	in, err := readInput(c.Arguments)
	if err != nil {
		return failed(err)
	}
	if strings.TrimSpace(in.query) == "" {
		return f.list(ctx, c, g, in)
	}
	found, err := f.o.Dispatcher.Search(ctx, c.Agent, dispatch.SearchRequest{Query: in.query, Limit: in.limit, Connection: g.connection, Schemas: in.json})
	if err != nil {
		return failed(err)
	}
	if !in.json {
		return text(found.Text()), nil
	}
	list := []listed{}
	for _, r := range found.Results {
		list = append(list, listed{r.Connection, r.Tool, r.Description, r.InputSchema})
	}
	return asJSON(list)
}

// list answers an empty query: everything, in order.
func (f *searchFace) list(ctx context.Context, c serve.Call, g group, in input) (dispatch.Pieces, error) {
	all, err := f.o.Dispatcher.List(ctx, c.Agent, dispatch.ListRequest{Limit: in.limit, Connection: g.connection, Schemas: in.json})
	if err != nil {
		return failed(err)
	}
	if !in.json {
		return text(all.Text(f.o.Dispatcher.Budget(c.Agent.Client))), nil
	}
	list := []listed{}
	for _, s := range all.Connections {
		for _, t := range s.Tools {
			list = append(list, listed{s.Connection, t.Name, t.Description, t.InputSchema})
		}
	}
	return asJSON(list)
}

// listed is one tool for programs.
type listed struct {
	Server      string          `json:"server"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func asJSON(v any) (dispatch.Pieces, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("print the answer: %w", err)
	}
	return text(string(raw)), nil
}

func (f *searchFace) describe(ctx context.Context, c serve.Call, g group) (dispatch.Pieces, error) {
	in, err := readInput(c.Arguments)
	if err != nil {
		return failed(err)
	}
	if in.tool == "" {
		return failed(&dispatch.Error{Code: dispatch.BadRequest, Message: "tool is missing", Do: "Name it as " + g.name(searchTool) + " shows it"})
	}
	found, err := f.o.Dispatcher.Describe(ctx, c.Agent, dispatch.DescribeRequest{Names: []string{in.tool}, Connection: g.connection, Bare: true})
	if err != nil {
		return failed(err)
	}
	return text(found.Text()), nil
}

func text(s string) dispatch.Pieces {
	return dispatch.Pieces{json.RawMessage(`{"content":[{"type":"text","text":` + string(rawjson.Quote(s)) + `}]}`)}
}
