package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
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
