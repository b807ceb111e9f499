package downstream

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/server/servertest"
)

func TestNoGoroutineIsLeft(t *testing.T) {
	streamable := httptest.NewServer(server.NewStreamableHTTPServer(libraryServer(), server.WithStateful(true)))
	t.Cleanup(streamable.Close)
	sse := servertest.NewTestServer(libraryServer())
	t.Cleanup(sse.Close)
	before := runtime.NumGoroutine()
	for range 3 {
		f, err := New(Options{
			Servers: []Server{
				fixtureServer(t, "stdio"),
				fixtureServer(t, "modern", "modern"),
				fixtureServer(t, "crash", "crash"),
				{Name: "http", URL: streamable.URL, Protocol: "legacy"},
				{Name: "http modern", URL: streamable.URL},
				{Name: "sse", URL: sse.URL + "/sse", Transport: "sse"},
				{Name: "local", Local: func() (*server.MCPServer, error) { return libraryServer(), nil }},
			},
			OnEvent: func(Event) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Start(t.Context())
		for _, m := range f.roster.Load().order {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			_, err := f.Do(ctx, Request{Server: m.options.Name, Method: "ping", Progress: func(json.RawMessage) {}})
			if err != nil && m.options.Name != "crash" && fateOf(err) != Ran {
				t.Error(err)
			}
			cancel()
		}
		f.Close()
	}
	eventually(t, "goroutines ended", func() bool {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine() <= before+2 // the test servers' own
	})
}

// A remote server that does not answer the good-bye holds nobody up.
func TestCloseOfAHangingRemote(t *testing.T) {
	s := &scripted{}
	end := make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			<-end
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(remote.Close)
	t.Cleanup(func() { close(end) })
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: remote.URL}}})
	if _, err := f.Fetch(t.Context(), "s", "x", nil); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	f.Close()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("Close took %s, want 2 s at most", took)
	}
}
