package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/client"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// over connects to the fixture through a real transport.
func over(t *testing.T, name string) *client.Connection {
	t.Helper()
	m, h, err := fixture("proxy", "dispatch")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	var tr transport.Interface
	switch name {
	case "stdio":
		in, toProxy := io.Pipe()
		fromProxy, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- serve.Stdio(t.Context(), serve.Options{Face: m.face}, in, out); out.Close() }()
		t.Cleanup(func() {
			toProxy.Close()
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("Stdio: %v", err)
			}
		})
		tr = transport.NewIO(fromProxy, toProxy, io.NopCloser(nothing{}))
	case "http":
		site, err := serve.Handler(t.Context(), serve.HTTPOptions{Options: serve.Options{Face: m.face}, Paths: map[string]serve.Face{"/mcp": m.face}})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(site)
		t.Cleanup(s.Close)
		if tr, err = transport.NewStreamableHTTP(s.URL + "/mcp"); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.Connect(t.Context(), tr, client.ConnectOptions{Name: "tests"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

func TestConnection(t *testing.T) {
	for _, name := range []string{"stdio", "http"} {
		t.Run(name, func(t *testing.T) {
			conn := over(t, name)
			if !json.Valid(conn.Hello) {
				t.Errorf("got hello %s", conn.Hello)
			}
			c := client.New(conn, client.Options{Whole: true, Timeout: time.Minute})
			tools, err := c.ListTools(t.Context())
			if err != nil || len(tools) != 10 {
				t.Fatalf("got %d tools, %v", len(tools), err)
			}
			steps := make(chan string, 10)
			r, err := c.CallTool(t.Context(), client.Call{Name: "notes_steps", Progress: func(p json.RawMessage) { steps <- string(p) }})
			if err != nil || r.Content[0].(mcp.TextContent).Text != "done" {
				t.Errorf("got %+v, %v", r, err)
			}
			if len(steps) != 3 {
				t.Errorf("got %d steps, want 3", len(steps))
			}
			if r, err = c.CallTool(t.Context(), client.Call{Name: "notes_rows", Arguments: map[string]int{"n": 9000}}); err != nil || r.Handle != "" || len(r.Raw) < 400_000 {
				t.Errorf("got %d bytes, %v", len(r.Raw), err)
			}
			_, err = conn.Request(t.Context(), client.Request{Method: "no/such", Params: json.RawMessage(`{}`)})
			if e, ok := errors.AsType[*client.RPCError](err); !ok || e.Code != -32601 {
				t.Errorf("an unknown method: got %v", err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := c.CallTool(ended, client.Call{Name: "notes_steps"}); !errors.Is(err, context.Canceled) {
				t.Errorf("after the end: got %v", err)
			}
		})
	}
}

func TestConnectFails(t *testing.T) {
	s := httptest.NewServer(nil)
	defer s.Close()
	tr, err := transport.NewStreamableHTTP(s.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Connect(t.Context(), tr, client.ConnectOptions{}); err == nil {
		t.Error("got no error from what is no MCP server")
	}
}
