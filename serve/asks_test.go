package serve

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

// everything is an agent that can be asked all there is.
const everything = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

// shake is the handshake of an agent with capabilities.
func (k *talk) shake(capabilities string) {
	k.t.Helper()
	k.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"},"capabilities":` + capabilities + `}}`)
	if got := k.read(); !strings.Contains(got, `"hello"`) {
		k.t.Fatalf("initialize: got %s", got)
	}
	k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func callAsk(id, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"ask","arguments":%s}}`, id, arguments)
}

func TestAskOverStdio(t *testing.T) {
	const roots = `{"method":"roots/list"}`
	const question = `{"jsonrpc":"2.0","id":"pd:1","method":"roots/list"}`
	cases := []struct {
		name, capabilities, arguments string
		answers                       []string // to the question; none: it must not come
		want                          string   // the result's answers
	}{
		{"answered", everything, roots, []string{`{"jsonrpc":"2.0","id":"pd:1","result":{"roots":[],"n":9007199254740993}}`}, `[{"roots":[],"n":9007199254740993}]`},
		{"answered with an error", everything, roots, []string{`{"jsonrpc":"2.0","id":"pd:1","error":{"code":-32042,"message":"no"}}`}, `[{"code":-32042,"message":"no"}]`},
		{"answered with no result", everything, roots, []string{`{"jsonrpc":"2.0","id":"pd:1","result":7}`}, `[{"code":-32603,"message":"the agent's answer to roots/list is no result"}]`},
		{"other answers first", everything, roots, []string{
			`{"jsonrpc":"2.0","id":"pd:2","result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","result":{}}`,
			`{"jsonrpc":"2.0","id":"pd\u003a1","result":{"a":1}}`, `{"jsonrpc":"2.0","id":"pd:1","result":{"b":2}}`}, `[{"a":1}]`},
		{"can't", `{}`, roots, nil, `[{"code":-32601,"message":"the agent does not support roots"}]`},
		{"can't fill in forms at URLs", `{"elicitation":{}}`, `{"method":"elicitation/create","params":{"mode":"url"}}`, nil, `[{"code":-32602,"message":"the agent does not support url of elicitation"}]`},
		{"can't fill in forms", `{"elicitation":{"url":{}}}`, `{"method":"elicitation/create","params":{}}`, nil, `[{"code":-32602,"message":"the agent does not support form of elicitation"}]`},
		{"can't use tools", `{"sampling":{}}`, `{"method":"sampling/createMessage","params":{"tools":[]}}`, nil, `[{"code":-32602,"message":"the agent does not support tools of sampling"}]`},
		{"nobody asks this", everything, `{"method":"tools/list"}`, nil, `[{"code":-32601,"message":"an agent can't be asked tools/list"}]`},
		{"bad params", everything, `{"method":"roots/list","params":[1]}`, nil, `[{"code":-32602,"message":"the params of roots/list are no object"}]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := startStdio(t, Options{Face: newFakeFace()})
			k.shake(c.capabilities)
			k.send(callAsk("1", c.arguments))
			if c.answers != nil {
				if got := k.read(); got != question {
					t.Errorf("question: got %s, want %s", got, question)
				}
			}
			for _, answer := range c.answers {
				k.send(answer)
			}
			if got := k.read(); !strings.Contains(got, "notifications/message") {
				t.Errorf("told: got %s", got)
			}
			if got := gjson.Get(k.read(), "result.answers").Raw; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestAskEnds holds that a question ends with its call, and that the agent hears of it.
func TestAskEnds(t *testing.T) {
	cases := []struct {
		name string
		end  func(k *talk)
		want []string
	}{
		{"call cancelled", func(k *talk) {
			k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		}, []string{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"pd:1","reason":"nobody waits for the answer any more"}}`, "notifications/message"}},
		{"no answer", func(*talk) {}, []string{`"requestId":"pd:1"`, "notifications/message", `"code":-32603,"message":"the agent gave no answer within 30s"`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := startStdio(t, Options{Face: newFakeFace(), AskTimeout: 30 * time.Second})
				k.shake(everything)
				k.send(callAsk("1", `{"method":"roots/list"}`))
				k.read()
				go c.end(k)
				for _, want := range c.want {
					if got := k.read(); !strings.Contains(got, want) {
						t.Errorf("got %s, want %s", got, want)
					}
				}
				k.send(`{"jsonrpc":"2.0","id":"pd:1","result":{}}`) // too late
				k.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
				if got := k.read(); got != `{"jsonrpc":"2.0","id":2,"result":{}}` {
					t.Errorf("after it: got %s", got)
				}
				k.in.Close()
				<-k.done
			})
		})
	}
}

func TestTooManyAsks(t *testing.T) {
	k := startStdio(t, Options{Face: newFakeFace(), MaxAsks: 2})
	k.shake(everything)
	for i := range 2 {
		k.send(callAsk(fmt.Sprint(i), `{"method":"roots/list"}`))
		k.read()
	}
	k.send(callAsk("2", `{"method":"roots/list"}`))
	k.read()
	if got := k.read(); !strings.Contains(got, `"id":2,`) || !strings.Contains(got, "2 questions wait for the agent already") {
		t.Errorf("got %s", got)
	}
}

// TestManyAsksMeanwhile has calls ask at once, all answered only when all have asked, beside others.
func TestManyAsksMeanwhile(t *testing.T) {
	const calls = 100
	k := startStdio(t, Options{Face: newFakeFace()})
	k.shake(everything)
	go func() {
		for i := range calls {
			k.send(callAsk(fmt.Sprint(i), `{"method":"roots/list"}`))
		}
	}()
	var ids []string
	for range calls {
		ids = append(ids, gjson.Get(k.read(), "id").String())
	}
	k.send(`{"jsonrpc":"2.0","id":"beside","method":"tools/call","params":{"name":"meta"}}`)
	if got := k.read(); !strings.Contains(got, `"beside"`) {
		t.Errorf("a call beside: got %s", got)
	}
	go func() {
		for _, id := range ids {
			k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"of":%q}}`, id, id))
		}
	}()
	answered := map[string]bool{}
	for len(answered) < calls {
		if line := k.read(); gjson.Get(line, "result").Exists() {
			answered[gjson.Get(line, "result.answers.0.of").String()] = true
		}
	}
}

func TestPeerOverStdio(t *testing.T) {
	f := newFakeFace()
	k := startStdio(t, Options{Face: f})
	k.shake(everything)
	p := <-f.peers
	if got := string(p.ClientInfo()) + string(p.Capabilities()) + p.Agent().Client; got != `{"name":"t","version":"1"}`+everything+"t" {
		t.Errorf("peer: got %s", got)
	}
	answers := make(chan string, 1)
	go func() {
		raw, err := p.Ask(t.Context(), "roots/list", nil)
		answers <- fmt.Sprintf("%s %v", raw, err)
	}()
	if got := k.read(); got != `{"jsonrpc":"2.0","id":"pd:1","method":"roots/list"}` {
		t.Errorf("question: got %s", got)
	}
	k.send(`{"jsonrpc":"2.0","id":"pd:1","result":{"roots":[]}}`)
	if got := <-answers; got != `{"roots":[]} <nil>` {
		t.Errorf("answer: got %s", got)
	}
	go p.Notify("notifications/tools/list_changed", nil)
	if got := k.read(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("notification: got %s", got)
	}
	k.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"a":1}}`)
	if got := <-f.heard; got != `notifications/roots/list_changed {"a":1}` {
		t.Errorf("heard: got %s", got)
	}
	go func() {
		_, err := p.Ask(context.Background(), "roots/list", nil)
		answers <- fmt.Sprint(err)
	}()
	k.read()
	k.in.Close()
	if got := <-answers; !strings.Contains(got, "is over") {
		t.Errorf("at the end: got %s", got)
	}
	if got := <-f.peers; got != nil {
		t.Error("not detached at the end")
	}
}

func TestLogLevel(t *testing.T) {
	f := newFakeFace()
	f.able = `{"logging":{}}`
	k := startStdio(t, Options{Face: f})
	k.shake(`{}`)
	for _, c := range []struct {
		level string
		want  []string
	}{{"", levels}, {"error", levels[4:]}, {"debug", levels}, {"emergency", levels[7:]}} {
		if c.level != "" {
			k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":%q}}`, c.level))
			if got := k.read(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Errorf("set %s: got %s", c.level, got)
			}
		}
		k.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tell","arguments":{"times":8}}}`)
		var got []string
		for line := k.read(); gjson.Get(line, "method").Exists(); line = k.read() {
			got = append(got, gjson.Get(line, "params.level").String())
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v, want %v", c.level, got, c.want)
		}
	}
	k.send(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"loud"}}`)
	if got := k.read(); !strings.Contains(got, "-32602") {
		t.Errorf("an unknown level: got %s", got)
	}
}

// TestNothingToldIsLost has notifications come just before the result, a thousand times, on both transports.
func TestNothingToldIsLost(t *testing.T) {
	const calls, told = 1000, 5
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tell","arguments":{"times":%d}}}`, told)
	t.Run("stdio", func(t *testing.T) {
		k := startStdio(t, Options{Face: newFakeFace()})
		for i := range calls {
			k.send(call)
			for n := range told {
				if got := gjson.Get(k.read(), "params.data").Raw; got != fmt.Sprint(n) {
					t.Fatalf("call %d: got %s, want %d", i, got, n)
				}
			}
			k.read()
		}
	})
	t.Run("HTTP", func(t *testing.T) {
		s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}})
		session := open(t, s.URL+"/mcp")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range calls / 4 {
					_, _, body := post(t, s.URL+"/mcp", session, call)
					if got := strings.Count(body, `"data":`); got != told || !strings.HasSuffix(body, `"result":{"content":[]}}`+"\n\n") {
						t.Errorf("call %d: got %d notifications, want %d: %s", i, got, told, body)
					}
				}
			})
		}
		wg.Wait()
	})
}
