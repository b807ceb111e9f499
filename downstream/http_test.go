package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/server/servertest"
)

// libraryServer has tools that echo, tell progress, panic, hang and change the list.
func libraryServer() *server.MCPServer {
	s := server.NewMCPServer("library", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	s.AddTool(mcp.NewTool("progress"), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": i})
			if err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	s.AddTool(mcp.NewTool("hang"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.AddTool(mcp.NewTool("panic"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("oh")
	})
	s.AddTool(mcp.NewTool("change"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("new"), nil)
		return mcp.NewToolResultText("changed"), nil
	})
	return s
}

// each way to the same server.
func libraryFleets(t *testing.T, o Options) map[string]*Fleet {
	t.Helper()
	streamable := httptest.NewServer(server.NewStreamableHTTPServer(libraryServer(), server.WithStateful(true)))
	t.Cleanup(streamable.Close)
	sse := servertest.NewTestServer(libraryServer())
	t.Cleanup(sse.Close)
	servers := map[string]Server{
		"http":        {URL: streamable.URL, Protocol: "legacy"},
		"http modern": {URL: streamable.URL},
		"sse":         {URL: sse.URL + "/sse", Transport: "sse"},
		"local":       {Local: func() (*server.MCPServer, error) { return libraryServer(), nil }},
	}
	fleets := map[string]*Fleet{}
	for name, s := range servers {
		s.Name = "s"
		o.Servers = []Server{s}
		fleets[name] = newFleet(t, o)
	}
	return fleets
}

func TestLibraryServers(t *testing.T) {
	for name, f := range libraryFleets(t, Options{}) {
		t.Run(name, func(t *testing.T) {
			hello, err := f.Hello(t.Context(), "s")
			if modern := strings.Contains(string(hello), "supportedVersions"); err != nil || modern != (name == "http modern") {
				t.Errorf("hello: %s, %v", hello, err)
			}
			raw, err := f.Do(t.Context(), Request{Server: "s", Method: "tools/call", Params: json.RawMessage(`{"name":"echo","arguments":{"text":"<&> grüß"}}`)})
			var got mcp.CallToolResult
			if err != nil || json.Unmarshal(raw, &got) != nil || got.Content[0].(mcp.TextContent).Text != "<&> grüß" {
				t.Errorf("echo: %s, %v", raw, err)
			}
			_, err = f.Do(t.Context(), Request{Server: "s", Method: "tools/call", Params: json.RawMessage(`{"name":"no such"}`)})
			if rpc, ok := errors.AsType[*RPCError](err); !ok || rpc.Code != -32602 || fateOf(err) != Ran {
				t.Errorf("unknown tool: got %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			_, err = f.Do(ctx, Request{Server: "s", Method: "tools/call", Params: json.RawMessage(`{"name":"hang"}`)})
			if !errors.Is(err, context.Canceled) || fateOf(err) != SentUnknown {
				t.Errorf("cancelled: got %v", err)
			}
			_, err = f.Do(t.Context(), Request{Server: "s", Method: "tools/call", Params: json.RawMessage(`{"name":"hang"}`), Timeout: 20 * time.Millisecond})
			if !errors.Is(err, ErrTimeout) || fateOf(err) != SentUnknown {
				t.Errorf("timeout: got %v", err)
			}
		})
	}
}

func TestProgressOfLibraryServers(t *testing.T) {
	for name, f := range libraryFleets(t, Options{}) {
		t.Run(name, func(t *testing.T) {
			for range 50 {
				var got []string
				_, err := f.Do(t.Context(), Request{
					Server: "s", Method: "tools/call", Params: json.RawMessage(`{"name":"progress"}`),
					Progress: func(p json.RawMessage) { got = append(got, string(p)) },
				})
				want := `{"progress":0} {"progress":1} {"progress":2}`
				if err != nil || name == "local" && strings.Join(got, " ") != want || len(got) > 3 {
					t.Fatalf("got %v, %v; want %s", got, err, want) // the library's remote servers lose some and use two streams
				}
			}
		})
	}
}

func TestChangesOfLibraryServers(t *testing.T) {
	var changes atomic.Int64
	o := Options{OnEvent: func(e Event) {
		if e.Kind == ToolsChanged {
			changes.Add(1)
		}
	}}
	for name, f := range libraryFleets(t, o) {
		t.Run(name, func(t *testing.T) {
			before := changes.Load()
			eventually(t, "change heard", func() bool { // the stream that tells it may open late
				_, err := f.Fetch(t.Context(), "s", "tools/call", json.RawMessage(`{"name":"change"}`))
				if err != nil {
					t.Fatal(err)
				}
				return changes.Load() > before
			})
		})
	}
}

func TestPanicOfALocalServer(t *testing.T) {
	f := libraryFleets(t, Options{})["local"]
	_, err := f.Do(t.Context(), Request{Server: "s", Method: "tools/call", Params: json.RawMessage(`{"name":"panic"}`)})
	if err == nil || fateOf(err) != Ran {
		t.Errorf("got %v, want an error that ran", err)
	}
}

func TestLocalServerThatCannotBeMade(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{{Name: "s", Local: func() (*server.MCPServer, error) { return nil, errors.New("no disk") }}}})
	if _, err := f.Fetch(t.Context(), "s", "ping", nil); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("got %v", err)
	}
}

func TestFallbackToSSE(t *testing.T) {
	sse := servertest.NewTestServer(libraryServer())
	t.Cleanup(sse.Close)
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: sse.URL + "/sse"}}})
	if _, err := f.Fetch(t.Context(), "s", "tools/list", nil); err != nil {
		t.Error(err)
	}
	sse.CloseClientConnections()
	eventually(t, "loss seen", func() bool { state, _ := f.State("s"); return state == StateFailing })
	if _, err := f.Fetch(t.Context(), "s", "tools/list", nil); err != nil {
		t.Errorf("after the loss: %v", err)
	}
}

// scripted is a remote server whose answers are written by hand.
type scripted struct {
	mu       sync.Mutex
	sessions int
	live     string
	bodies   []string
	headers  []http.Header
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	json.Unmarshal(body, &m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, string(body))
	s.headers = append(s.headers, r.Header)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.Method == "initialize":
		s.sessions++
		s.live = fmt.Sprint("session-", s.sessions)
		w.Header().Set("Mcp-Session-Id", s.live)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.ID)
	case m.Method == "server/discover":
		w.WriteHeader(http.StatusBadRequest)
	case r.Header.Get("Mcp-Session-Id") != s.live:
		w.WriteHeader(http.StatusNotFound)
	default:
		s.answer(w, m.ID, m.Method)
	}
}

func (s *scripted) answer(w http.ResponseWriter, id json.RawMessage, method string) {
	switch method {
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	case "exact":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, exactResult)
	case "exact in a stream":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, exactResult)
	case "progress":
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 1000 {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", id, i)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", id)
	case "error":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, exactError)
	case "error in a stream":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":%s}\n\n", id, exactError)
	case "error with a status":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":%s}`, exactError)
	case "forget":
		s.live = "none"
		w.WriteHeader(http.StatusNotFound)
	case "large":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"text":"%s"}}`, id, strings.Repeat("x", 1<<20))
	case "large in a stream":
		w.Header().Set("Content-Type", "text/event-stream")
		for range 100 { // small events together may be large
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"%s\"}}\n\n", strings.Repeat("x", 10_000))
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"text\":\"%s\"}}\n\n", id, strings.Repeat("x", 1<<20))
	case "small in a stream":
		w.Header().Set("Content-Type", "text/event-stream")
		for range 100 {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"%s\"}}\n\n", strings.Repeat("x", 10_000))
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", id)
	case "broken":
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html>", strings.Repeat("long words ", 100_000))
	case "not found":
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"error":"no such page"}`)
	case "empty":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s}`, id)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	}
}

func TestRemoteAnswers(t *testing.T) {
	s := &scripted{}
	remote := httptest.NewServer(s)
	t.Cleanup(remote.Close)
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: remote.URL, Headers: map[string]string{"X-Key": "k"}}}, MaxMessage: 500_000})
	tests := []struct {
		method, want string
		is           error
		fate         Fate
	}{
		{"exact", strings.Join(strings.Fields(exactResult), ""), nil, 0},
		{"exact in a stream", strings.Join(strings.Fields(exactResult), ""), nil, 0},
		{"forget", "", ErrUnavailable, NotSent},
		{"exact", strings.Join(strings.Fields(exactResult), ""), nil, 0},
		{"large", "", ErrTooLarge, Ran},
		{"large in a stream", "", ErrTooLarge, Ran},
		{"small in a stream", "{}", nil, 0},
		{"broken", "", ErrUnavailable, SentUnknown},
		{"empty", "", nil, Ran},
		{"not found", "", ErrUnavailable, NotSent},
	}
	for _, tt := range tests {
		t.Run(tt.method, func(t *testing.T) {
			got, err := f.Do(t.Context(), Request{Server: "s", Method: tt.method})
			if strings.Join(strings.Fields(string(got)), "") != tt.want || tt.is != nil && !errors.Is(err, tt.is) || (err != nil) != (tt.want == "") {
				t.Errorf("got %.200s, %v; want %.200s, %v", got, err, tt.want, tt.is)
			}
			if err != nil && (fateOf(err) != tt.fate || len(err.Error()) > maxWhy*3/2) {
				t.Errorf("got %s of %d bytes, want %s", fateOf(err), len(err.Error()), tt.fate)
			}
		})
	}
	n := 0
	_, err := f.Do(t.Context(), Request{Server: "s", Method: "progress", Progress: func(p json.RawMessage) {
		if string(p) != fmt.Sprintf(`{"progress":%d}`, n) {
			t.Errorf("got %s, want %d", p, n)
		}
		n++
	}})
	if err != nil || n != 1000 {
		t.Errorf("progress: got %d, %v; want 1000", n, err)
	}
	for _, method := range []string{"error", "error in a stream", "error with a status"} {
		_, err := f.Do(t.Context(), Request{Server: "s", Method: method})
		if rpc, ok := errors.AsType[*RPCError](err); !ok || string(rpc.Raw) != exactError || rpc.Code != -32002 {
			t.Errorf("%s: got %v, want it as sent", method, err)
		}
	}
	if s.sessions != 3 {
		t.Errorf("got %d sessions, want one and one for each time it was forgotten", s.sessions)
	}
}

func TestRemoteRequestsAreExact(t *testing.T) {
	s := &scripted{}
	remote := httptest.NewServer(s)
	t.Cleanup(remote.Close)
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: remote.URL, Headers: map[string]string{"X-Key": "k"}}}})
	const params = `{"html":"<&>","n":1.10,"big":12345678901234567890}`
	if _, err := f.Fetch(t.Context(), "s", "any", json.RawMessage(params)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.bodies, func(body string) bool { return strings.Contains(body, params) }) {
		t.Errorf("got %q, want one with %s", s.bodies, params)
	}
	for i, h := range s.headers {
		if h.Get("X-Key") != "k" {
			t.Errorf("request %d has no key", i)
		}
	}
}

func TestRemoteRefusals(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer elsewhere.Close()
	tests := []struct {
		name   string
		handle http.HandlerFunc
		is     error
		state  State
	}{
		{"login", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, ErrAuthRequired, StateNeedsLogin},
		{"forbidden", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, ErrUnavailable, StateFailing},
		{"broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, ErrUnavailable, StateFailing},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, ErrUnavailable, StateFailing},
		{"junk", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }, ErrUnavailable, StateFailing},
		{"silent", func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }, ErrUnavailable, StateFailing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			remote := httptest.NewServer(tt.handle)
			t.Cleanup(remote.Close)
			f := newFleet(t, Options{
				Servers: []Server{{Name: "s", URL: remote.URL + "/?token=hunter2secret", StartTimeout: 1500 * time.Millisecond}},
				Redact:  func(_, text string) string { return strings.ReplaceAll(text, "hunter2secret", "***") },
			})
			_, err := f.Fetch(t.Context(), "s", "ping", nil)
			if !errors.Is(err, tt.is) || fateOf(err) != NotSent || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %v, not sent", err, tt.is)
			}
			if state, why := f.State("s"); state != tt.state || strings.Contains(why, "hunter2") {
				t.Errorf("got %s (%s), want %s", state, why, tt.state)
			}
			f.Close()
		})
	}
}

func TestUnreachable(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: gone.URL}}})
	start := time.Now()
	_, err := f.Fetch(t.Context(), "s", "ping", nil)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "refused") || time.Since(start) > time.Second {
		t.Errorf("got %v after %s", err, time.Since(start))
	}
}

func TestHeadersOfTheNewEra(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]http.Header{}
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.NewDecoder(r.Body).Decode(&m)
		mu.Lock()
		seen[m.Method] = r.Header
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		result := `{}`
		switch m.Method {
		case "server/discover":
			result = `{"supportedVersions":["2026-07-28"],"capabilities":{}}`
		case "tools/list":
			result = `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(remote.Close)
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: remote.URL}}})
	for method, params := range map[string]string{"tools/list": ``, "resources/read": `{"uri":"file:///x"}`} {
		if _, err := f.Fetch(t.Context(), "s", method, json.RawMessage(params)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Fetch(t.Context(), "s", "tools/call", json.RawMessage(`{"name":"t","arguments":{"region":"north"}}`)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	tests := []struct{ method, header, want string }{
		{"server/discover", "Mcp-Protocol-Version", "2026-07-28"},
		{"tools/list", "Mcp-Protocol-Version", "2026-07-28"},
		{"tools/list", "Mcp-Method", "tools/list"},
		{"resources/read", "Mcp-Name", "file:///x"},
		{"tools/call", "Mcp-Name", "t"},
		{"tools/call", "Mcp-Param-Region", "north"},
		{"tools/call", "Mcp-Session-Id", ""},
	}
	for _, tt := range tests {
		if got := seen[tt.method].Get(tt.header); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.method, tt.header, got, tt.want)
		}
	}
}

// A login that ends while a session lives is told apart from a server that is down.
func TestLoginEnds(t *testing.T) {
	s := &scripted{}
	var out atomic.Bool
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if out.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(remote.Close)
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: remote.URL}}})
	if _, err := f.Fetch(t.Context(), "s", "x", nil); err != nil {
		t.Fatal(err)
	}
	out.Store(true)
	for range 2 {
		if _, err := f.Fetch(t.Context(), "s", "x", nil); !errors.Is(err, ErrAuthRequired) || fateOf(err) != NotSent {
			t.Errorf("got %v, want ErrAuthRequired", err)
		}
		eventually(t, "state", func() bool { state, _ := f.State("s"); return state == StateNeedsLogin })
	}
	out.Store(false)
	if _, err := f.Fetch(t.Context(), "s", "x", nil); err != nil {
		t.Errorf("after the login: %v", err)
	}
}
