package downstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Servers of the new era that don't answer the first discovery as wanted are asked again.
func TestSecondDiscovery(t *testing.T) {
	refuse := func(code int, data string) func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		return func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no","data":%s}}`, id, code, data)
		}
	}
	tests := []struct {
		name  string
		first func(w http.ResponseWriter, r *http.Request, id json.RawMessage)
		greet int // how many times it is asked initialize
	}{
		{"slower than the probe", func(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() }, 1},
		{"refuses the version that it lists", refuse(-32022, `{"supported":["2026-07-28"]}`), 0},
		{"refuses for now", refuse(-32603, `null`), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := map[string]int{} // one request at a time
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct {
					ID     json.RawMessage
					Method string
				}
				_ = json.NewDecoder(r.Body).Decode(&m)
				asked[m.Method]++
				w.Header().Set("Content-Type", "application/json")
				switch {
				case m.Method == "server/discover" && asked[m.Method] == 1:
					tt.first(w, r, m.ID)
				case m.Method == "server/discover":
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`, m.ID)
				case r.Header.Get("Mcp-Protocol-Version") == "":
					refuse(-32020, `null`)(w, r, m.ID)
				default:
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"done":true}}`, m.ID)
				}
			}))
			t.Cleanup(s.Close)
			f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: s.URL}}})
			if raw, err := f.Fetch(t.Context(), "s", "x", nil); err != nil || string(raw) != `{"done":true}` {
				t.Errorf("got %s, %v", raw, err)
			}
			if asked["initialize"] != tt.greet || asked["server/discover"] != 2 {
				t.Errorf("got %v", asked)
			}
		})
	}
}

// A login that allows too little is told apart from none, and leaves the session as it is.
func TestLoginForTooLittle(t *testing.T) {
	s := &scripted{}
	const challenge = `Bearer error="insufficient_scope", scope="files:write"`
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") != "" && r.Method == http.MethodPost && r.ContentLength > 100 {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(remote.Close)
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: remote.URL}}})
	if _, err := f.Fetch(t.Context(), "s", "x", nil); err != nil {
		t.Fatal(err)
	}
	_, err := f.Fetch(t.Context(), "s", "x", fmt.Appendf(nil, `{"long":%q}`, strings.Repeat("x", 100)))
	e, ok := errors.AsType[*ScopeError](err)
	if !ok || e.Challenge != challenge || fateOf(err) != NotSent {
		t.Errorf("got %v, want the challenge", err)
	}
	if state, _ := f.State("s"); state != StateReady {
		t.Errorf("got state %s", state)
	}
	if _, err := f.Fetch(t.Context(), "s", "x", nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
