package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// person answers what a client asks one: it visits addresses, or does not want to.
type person struct {
	t      *testing.T
	action string // of the answer; "accept" visits
	mu     sync.Mutex
	asked  []json.RawMessage
}

func (p *person) answer(method string, params json.RawMessage) string {
	p.mu.Lock()
	p.asked = append(p.asked, params)
	p.mu.Unlock()
	if method != "elicitation/create" || rawjson.Unquote(rawjson.Member(params, "mode")) != "url" {
		p.t.Errorf("asked %s %s", method, params)
	}
	if p.action == "accept" {
		page, err := http.Get(rawjson.Unquote(rawjson.Member(params, "url")))
		if err != nil {
			p.t.Error(err)
		} else {
			page.Body.Close()
		}
	}
	return fmt.Sprintf(`{"action":%q}`, p.action)
}

func (p *person) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

const throughInner = `{"action":"call","tool":"inner/proxy-dispatch","arguments":{"action":"call","tool":"fixture/echo","arguments":{"message":"through both"}}}`

// TestLoginWhileACallWaits: the agent's client shows the person where to log in, and the call goes on.
func TestLoginWhileACallWaits(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	outer := newHome(t, config(`"log":{"level":"debug"}`, server{"inner", fmt.Sprintf(`{"url":%q}`, p.proxy(t))}))
	cases := []struct {
		name, capabilities, action string
		ok                         bool
		times                      int
	}{
		{"a client that can't show addresses", `{"elicitation":{"form":{}}}`, "accept", false, 0},
		{"a person who does not want to", `{"elicitation":{"url":{}}}`, "decline", false, 1},
		{"nothing is known of the server", `{"elicitation":{"url":{}}}`, "accept", true, 1},
		{"there is a login", `{"elicitation":{"url":{}}}`, "accept", true, 0},
	}
	for _, c := range cases { // one after the other
		t.Run(c.name, func(t *testing.T) {
			who := &person{t: t, action: c.action}
			s := outer.start(t)
			s.Capabilities, s.Answer = c.capabilities, who.answer
			if _, err := s.Hello(s.ctx); err != nil {
				t.Fatal(err)
			}
			got := s.do(throughInner)
			if c.ok {
				got.ok().wants("through both")
			} else {
				got.fails("auth_required", "proxy-dispatch login inner", "Not sent: safe to repeat.")
			}
			if who.times() != c.times {
				t.Errorf("asked %d times, want %d", who.times(), c.times)
			}
			_ = s.Close()
			p.leaked("the log", s.Stderr())
			p.leaked("the answer", string(got.raw))
		})
	}
	for _, f := range left(filepath.Join(outer.dir, "cache")) {
		if strings.Contains(f, "login") {
			t.Errorf("a login lies in the cache: %s", f)
		}
	}
}

// TestLoginWhileManyCallsWait: of a server whose tools are known the person is asked once for all calls.
func TestLoginWhileManyCallsWait(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	outer := newHome(t, config("", server{"inner", fmt.Sprintf(`{"url":%q}`, p.proxy(t))}))
	who := &person{t: t, action: "accept"}
	s := outer.start(t)
	s.Capabilities, s.Answer = `{"elicitation":{"url":{}}}`, who.answer
	if _, err := s.Hello(s.ctx); err != nil {
		t.Fatal(err)
	}
	s.do(throughInner).ok()
	if out, err := outer.command(t, "logout", "inner", "--config", outer.file).CombinedOutput(); err != nil {
		t.Fatalf("logout: %v %s", err, out)
	}
	eventually(t, "the session is over", func() bool {
		return strings.Contains(s.do(`{"action":"status"}`).text(), "needs login")
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { s.do(throughInner).ok().wants("through both") })
	}
	all.Wait()
	if who.times() != 2 {
		t.Errorf("asked %d times, want once for each login", who.times())
	}
}

// picky is a server behind the provider whose one tool wants a login for more than the rest.
func (p *provider) picky() *httptest.Server {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	p.t.Cleanup(s.Close)
	const known = "/.well-known/oauth-protected-resource/mcp"
	mux.HandleFunc("GET "+known, func(w http.ResponseWriter, _ *http.Request) {
		p.tell(w, 200, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{p.URL}, "scopes_supported": []string{"mcp"}})
	})
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		p.mu.Lock()
		scopes, in := p.given[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		p.mu.Unlock()
		result := `{}`
		switch {
		case !in:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+known+`"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		case m.Method == "tools/call" && !strings.Contains(scopes, "files:write"):
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="files:write", resource_metadata="`+s.URL+known+`"`)
			w.WriteHeader(http.StatusForbidden)
			return
		case m.Method == "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"picky","version":"1"}}`
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"write","inputSchema":{"type":"object"}}]}`
		case m.Method == "tools/call":
			result = `{"content":[{"type":"text","text":"written with ` + scopes + `"}]}`
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})
	return s
}

// TestLoginForMore: a login that allows too little for one call is extended, by the agent's person or by the command.
func TestLoginForMore(t *testing.T) {
	t.Parallel()
	const call = `{"action":"call","tool":"picky/write","arguments":{}}`
	for _, c := range []struct{ name, capabilities string }{
		{"while the call waits", `{"elicitation":{"url":{}}}`},
		{"by the command", `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			h := newHome(t, config("", server{"picky", fmt.Sprintf(`{"url":"%s/mcp"}`, p.picky().URL)}))
			who := &person{t: t, action: "accept"}
			s := h.start(t)
			s.Capabilities, s.Answer = c.capabilities, who.answer
			if _, err := s.Hello(s.ctx); err != nil {
				t.Fatal(err)
			}
			if c.capabilities == `{}` {
				s.do(call).fails("auth_required", "proxy-dispatch login picky", "Not sent")
				p.visit(h.command(t, "login", "picky", "--no-browser", "--config", h.file))
				s.do(call).fails("auth_required", "proxy-dispatch login picky --scope files:write", "Not sent: safe to repeat.")
				p.visit(h.command(t, "login", "picky", "--no-browser", "--scope", "files:write", "--config", h.file))
			}
			got := s.do(call).ok()
			got.wants("written with ")
			got.wants("files:write")
			got.wants("mcp")
			if c.capabilities != `{}` && who.times() != 2 {
				t.Errorf("asked %d times, want for the login and for more", who.times())
			}
		})
	}
}

// TestLoginThatNobodyFinishes: a call waits for its person no longer than it has time itself.
func TestLoginThatNobodyFinishes(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := newHome(t, config("", server{"picky", fmt.Sprintf(`{"url":"%s/mcp"}`, p.picky().URL)}))
	s := h.start(t)
	s.Capabilities = `{"elicitation":{"url":{}}}`
	s.Answer = func(string, json.RawMessage) string { return `{"action":"accept"}` } // and no browser comes back
	if _, err := s.Hello(s.ctx); err != nil {
		t.Fatal(err)
	}
	s.do(`{"action":"call","tool":"picky/write","arguments":{},"timeoutMs":1000}`).fails("auth_required", "proxy-dispatch login picky", "Not sent")
}

// TestLoginOfAModernAgent: an agent without sessions is asked by the answer to its call, and gets the result for the call repeated.
func TestLoginOfAModernAgent(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := newHome(t, config("", server{"inner", fmt.Sprintf(`{"url":%q}`, p.proxy(t))}))
	at := "http://" + listen(t, h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0")) + "/mcp"
	call := func(more string) posted {
		body := modernBody("tools/call", `"name":"proxy-dispatch","arguments":`+throughInner+more)
		return post(t, at, strings.Replace(body, `"elicitation":{}`, `"elicitation":{"url":{}}`, 1),
			"Mcp-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "proxy-dispatch")
	}
	first := call("")
	var n inputNeeded
	if err := json.Unmarshal(first.Result, &n); err != nil || n.ResultType != "input_required" || len(n.InputRequests) != 1 {
		t.Fatalf("got %s, want one question", clip(first.raw, 800))
	}
	who := &person{t: t, action: "accept"}
	for key, q := range n.InputRequests {
		answer := who.answer(q.Method, q.Params)
		last := call(fmt.Sprintf(`,"inputResponses":{%q:%s},"requestState":%q`, key, answer, n.RequestState))
		if !strings.Contains(string(last.Result), "through both") {
			t.Errorf("got %s", clip(last.raw, 800))
		}
		p.leaked("an answer", string(first.Result)+string(last.Result))
	}
}
