package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// events is one open stream of Server-Sent Events.
type events struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Scanner
	stop context.CancelFunc
	last string // id
}

// stream opens a stream: a POST of body, or a GET if that is empty.
func stream(t testing.TB, url, session, body string, header ...string) *events {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set(sessionHeader, session)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("no stream: got %d %s", answer.StatusCode, text)
	}
	e := &events{t: t, body: answer.Body, in: bufio.NewScanner(answer.Body), stop: cancel}
	t.Cleanup(e.close)
	return e
}

// next returns the data of the next event that has some; "" at the end.
func (e *events) next() string {
	e.t.Helper()
	for e.in.Scan() {
		line := e.in.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.last = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "" {
			return data
		}
	}
	return ""
}

func (e *events) close() {
	e.stop()
	e.body.Close()
}

func able(capabilities string) string {
	return strings.Replace(hello, `"capabilities":{}`, `"capabilities":`+capabilities, 1)
}

// openAble begins a session of an agent that can do everything.
func openAble(t testing.TB, url string, header ...string) string {
	t.Helper()
	_, session, body := post(t, url, "", able(everything), header...)
	if session == "" {
		t.Fatalf("initialize: got %s", body)
	}
	return session
}

func TestAskOverHTTP(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}, Addr: "0.0.0.0:0", Auth: byName{}})
	url, ann, bob := s.URL+"/mcp", []string{"Authorization", "Bearer ann"}, []string{"Authorization", "Bearer bob"}
	session, other := openAble(t, url, ann...), openAble(t, url, bob...)
	e := stream(t, url, session, callAsk("1", askRoots), ann...)
	if got := e.next(); got != `{"jsonrpc":"2.0","id":"pd:1","method":"roots/list"}` {
		t.Errorf("question: got %s", got)
	}
	answer := `{"jsonrpc":"2.0","id":"pd:1","result":{"from":%q}}`
	if status, _, _ := post(t, url, session, fmt.Sprintf(answer, "bob"), bob...); status != http.StatusNotFound {
		t.Errorf("bob in the session of ann: got %d, want 404", status)
	}
	if status, _, _ := post(t, url, other, fmt.Sprintf(answer, "bob"), bob...); status != http.StatusAccepted {
		t.Errorf("bob in his own session: got %d, want 202", status)
	}
	if status, _, body := post(t, url, session, fmt.Sprintf(answer, "ann"), ann...); status != http.StatusAccepted || body != "" {
		t.Errorf("ann: got %d %q, want 202", status, body)
	}
	e.next()
	if got := gjson.Get(e.next(), "result.answers").Raw; got != `[{"from":"ann"}]` {
		t.Errorf("got %s", got)
	}
	if got := e.next(); got != "" {
		t.Errorf("after the answer: got %s", got)
	}
}

func TestResume(t *testing.T) {
	f := newFakeFace()
	s := startHTTP(t, HTTPOptions{Options: Options{Face: f}})
	url := s.URL + "/mcp"
	session := openAble(t, url)
	e := stream(t, url, session, callAsk("7", askRoots))
	e.next()
	e.close() // the call goes on
	post(t, url, session, `{"jsonrpc":"2.0","id":"pd:1","result":{"roots":[]}}`)
	again := stream(t, url, session, "", "Last-Event-ID", e.last)
	if got := again.next(); !strings.Contains(got, "notifications/message") {
		t.Errorf("resumed: got %s", got)
	}
	place := again.last
	if got := gjson.Get(again.next(), "result.answers").Raw; got != `[{"roots":[]}]` {
		t.Errorf("result: got %s", got)
	}
	if got := again.next(); got != "" {
		t.Errorf("after the result: got %s", got)
	}
	once := stream(t, url, session, "", "Last-Event-ID", place) // once more, as if it had been lost
	if got := once.next(); !strings.Contains(got, `"id":7,"result"`) {
		t.Errorf("replayed: got %s", got)
	}
	for _, id := range []string{"99-1", "x", "-"} {
		r, _ := http.NewRequest(http.MethodGet, url, nil)
		r.Header.Set(sessionHeader, session)
		r.Header.Set("Last-Event-ID", id)
		if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != http.StatusBadRequest {
			t.Errorf("event %s: got %v, %v, want 400", id, answer, err)
		}
	}
}

func TestListenInSession(t *testing.T) {
	f := newFakeFace()
	s := startHTTP(t, HTTPOptions{Options: Options{Face: f}})
	url := s.URL + "/mcp"
	session := openAble(t, url)
	post(t, url, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p := <-f.peers
	p.Notify("notifications/tools/list_changed", nil) // nobody listens yet
	first := stream(t, url, session, "")
	if got := first.next(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("said before: got %s", got)
	}
	answers := make(chan string, 1)
	go func() {
		raw, err := p.Ask(t.Context(), "roots/list", nil)
		answers <- fmt.Sprintf("%s %v", raw, err)
	}()
	if got := first.next(); got != `{"jsonrpc":"2.0","id":"pd:1","method":"roots/list"}` {
		t.Errorf("question: got %s", got)
	}
	post(t, url, session, `{"jsonrpc":"2.0","id":"pd:1","result":{}}`)
	if got := <-answers; got != "{} <nil>" {
		t.Errorf("answer: got %s", got)
	}
	second := stream(t, url, session, "") // takes over
	if got := first.next(); got != "" {
		t.Errorf("the first one: got %s, want its end", got)
	}
	p.Notify("notifications/message", []byte(`{"level":"error","data":1}`))
	second.next()
	second.close()
	p.Notify("notifications/message", []byte(`{"level":"error","data":2}`))
	third := stream(t, url, session, "", "Last-Event-ID", second.last)
	if got := gjson.Get(third.next(), "params.data").Int(); got != 2 {
		t.Errorf("resumed: got %d, want 2", got)
	}
	r, _ := http.NewRequest(http.MethodDelete, url, nil)
	r.Header.Set(sessionHeader, session)
	if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("delete: got %v, %v", answer, err)
	}
	if got := third.next(); got != "" {
		t.Errorf("after the end: got %s", got)
	}
	if got := <-f.peers; got != nil {
		t.Error("not detached")
	}
}

func TestSubscriptions(t *testing.T) {
	f := newFakeFace()
	f.able = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
	s := startHTTP(t, HTTPOptions{Options: Options{Face: f}})
	listen := fmt.Sprintf(`{"jsonrpc":"2.0","id":1e2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a://b","no://such",7]},%s}}`, modernMeta(`{}`))
	e := stream(t, s.URL+"/mcp", "", listen, modernHeaders("subscriptions/listen", "")...)
	const id = `"_meta":{"io.modelcontextprotocol/subscriptionId":1e2}`
	if got := e.next(); got != `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`+id+`,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]}}}` {
		t.Errorf("acknowledged: got %s", got)
	}
	p := <-f.peers
	for _, n := range []struct{ method, params string }{
		{"notifications/prompts/list_changed", `{}`}, {"notifications/message", `{"level":"error"}`},
		{"notifications/resources/updated", `{"uri":"c://d"}`}, {"notifications/tools/list_changed", ``},
		{"notifications/resources/updated", `{"_meta":{"io.modelcontextprotocol/subscriptionId":9,"x":1},"uri":"a://b"}`},
	} {
		p.Notify(n.method, []byte(n.params))
	}
	if got := e.next(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{`+id+`}}` {
		t.Errorf("list changed: got %s", got)
	}
	if got := e.next(); got != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1e2,"x":1},"uri":"a://b"}}` {
		t.Errorf("updated: got %s", got)
	}
	if _, err := p.Ask(t.Context(), "roots/list", nil); err == nil {
		t.Error("asked outside of requests: got nil, want an error")
	}
	e.close()
	if got := <-f.peers; got != nil {
		t.Error("not detached")
	}
	if got := <-f.heard + <-f.heard; got != `resources/subscribe {"uri":"a://b"}resources/unsubscribe {"uri":"a://b"}` {
		t.Errorf("subscribed: got %s", got)
	}
}

// TestSubscriptionEndsWell holds that who listens gets an answer when we end.
func TestSubscriptionEndsWell(t *testing.T) {
	f := newFakeFace()
	f.able = `{"tools":{"listChanged":true}}`
	k := startStdio(t, Options{Face: f})
	k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`, modernMeta(`{}`)))
	k.read()
	<-f.peers
	go k.in.Close()
	if got := k.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"`) {
		t.Errorf("got %s", got)
	}
}

// TestSweep holds that idle sessions end by themselves, and used ones do not.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeFace()
		ctx, cancel := context.WithCancel(t.Context())
		h, err := Handler(ctx, HTTPOptions{Options: Options{Face: f}, SessionIdle: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(sessionHeader, session)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		used, idle := ask("", hello).Header().Get(sessionHeader), ask("", hello).Header().Get(sessionHeader)
		ask(idle, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		<-f.peers
		for range 4 {
			time.Sleep(30 * time.Minute)
			ask(used, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
		if len(f.peers) != 1 {
			t.Error("the idle session was not ended")
		}
		for session, want := range map[string]int{used: 200, idle: 404} {
			if got := ask(session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).Code; got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		}
		cancel()
		synctest.Wait()
	})
}

// TestSilence holds that a call which says nothing opens its stream after a while and shows that it lives.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeFace()
		ctx, cancel := context.WithCancel(t.Context())
		h, err := Handler(ctx, HTTPOptions{Options: Options{Face: f}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(modernCall(1, "wait", `{}`, `{}`)))
		head := modernHeaders("tools/call", "wait")
		for i := 0; i < len(head); i += 2 {
			r.Header.Set(head[i], head[i+1])
		}
		r.Header.Set("Content-Type", "application/json")
		gone, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(gone))
		if got := w.Body.String(); got != ":\n\n:\n\n:\n\n" || w.Header().Get("Content-Type") != "text/event-stream" || w.Header().Get("X-Accel-Buffering") != "no" {
			t.Errorf("got %q, %v", got, w.Header())
		}
		if got := f.cancelled.Load(); got != 1 {
			t.Errorf("calls cancelled: got %d, want 1", got)
		}
		cancel()
		synctest.Wait()
	})
}

func TestStateless(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}, Stateless: true})
	url := s.URL + "/mcp"
	if status, session, body := post(t, url, "", hello); status != 200 || session != "" || !strings.Contains(body, `"serverInfo"`) {
		t.Errorf("initialize: got %d, session %q, %s", status, session, body)
	}
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"initialized", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		{"list", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, `"tools":[`},
		{"call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who"}}`, 200, `"hasSession":false`},
		{"question", callAsk("1", askRoots), 200, "the agent does not support roots"},
		{"progress", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"p"}}}`, 200, `"progress":3`},
		{"modern", "[]", 400, "batches are not supported"},
	} {
		if status, _, body := post(t, url, "", c.body); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d %s", c.name, status, body)
		}
	}
	if answer, err := http.Get(url); err != nil || answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: got %v, %v, want 405", answer, err)
	}
}

// headerFace has a tool whose argument stands in a header as well.
type headerFace struct{ *fakeFace }

func (headerFace) Tools(dispatch.Agent) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}`)}
}

func TestModernHeaders(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: headerFace{newFakeFace()}}})
	call := modernCall(1, "echo", `{"region":"west","n":42}`, `{}`)
	const version, method, name, region, n = "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region", "Mcp-Param-N"
	all := map[string]string{version: "2026-07-28", method: "tools/call", name: "echo", region: "west", n: "42"}
	cases := []struct {
		name, body string
		change     map[string]string // "-" takes one away
		status     int
		code       int64
	}{
		{"all there", call, nil, 200, 0},
		{"number spelled otherwise", call, map[string]string{n: "42.0"}, 200, 0},
		{"encoded", call, map[string]string{region: "=?base64?d2VzdA==?=", name: "=?base64?ZWNobw==?="}, 200, 0},
		{"badly encoded", call, map[string]string{name: "=?base64?!?="}, 400, -32020},
		{"other argument", call, map[string]string{region: "east"}, 400, -32020},
		{"argument missing", call, map[string]string{region: "-"}, 400, -32020},
		{"argument that is not there", modernCall(1, "echo", `{"n":42}`, `{}`), nil, 400, -32020},
		{"null is not there", modernCall(1, "echo", `{"n":42,"region":null}`, `{}`), map[string]string{region: "-"}, 200, 0},
		{"unknown parameter", call, map[string]string{"Mcp-Param-Other": "x"}, 200, 0},
		{"no method", call, map[string]string{method: "-"}, 400, -32020},
		{"other method", call, map[string]string{method: "tools/list"}, 400, -32020},
		{"no name", call, map[string]string{name: "-"}, 400, -32020},
		{"other version", call, map[string]string{version: "2025-11-25"}, 400, -32020},
		{"unknown version", strings.Replace(call, "2026-07-28", "1900-01-01", 1), map[string]string{version: "1900-01-01"}, 400, -32022},
		{"no version anywhere", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, nil, 400, -32602},
		{"unknown method", strings.Replace(call, "tools/call", "no/such", 1), map[string]string{method: "no/such"}, 404, -32601},
		{"removed method", strings.Replace(call, "tools/call", "resources/subscribe", 1), map[string]string{method: "resources/subscribe"}, 404, -32601},
		{"a place to resume from", call, map[string]string{"Last-Event-ID": "1-1"}, 200, 0},
		{"unknown log level", strings.Replace(call, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`, 1), nil, 400, -32602},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var head []string
			for key, value := range all {
				if changed, ok := c.change[key]; ok {
					value = changed
				}
				if value != "-" {
					head = append(head, key, value)
				}
			}
			for key, value := range c.change {
				if all[key] == "" {
					head = append(head, key, value)
				}
			}
			status, _, body := post(t, s.URL+"/mcp", "", c.body, head...)
			if status != c.status || gjson.Get(body, "error.code").Int() != c.code {
				t.Errorf("got %d %s, want %d and code %d", status, body, c.status, c.code)
			}
		})
	}
}

// TestModernLog holds that log messages come only to requests that want them.
func TestModernLog(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}})
	call := modernCall(1, "tell", `{"times":8}`, `{}`)
	for level, want := range map[string]int{"": 0, "warning": 5} {
		body := call
		if level != "" {
			body = strings.Replace(call, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"`+level+`",`, 1)
		}
		_, _, got := post(t, s.URL+"/mcp", "", body, modernHeaders("tools/call", "tell")...)
		if n := strings.Count(got, "notifications/message"); n != want {
			t.Errorf("%q: got %d messages, want %d", level, n, want)
		}
	}
}

// TestAnswersNeedNoTurn holds that a principal with one turn can answer a question of its only running call.
func TestAnswersNeedNoTurn(t *testing.T) {
	one := func(dispatch.Agent) Limits { return Limits{Concurrent: 1} }
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}, Addr: "0.0.0.0:0", Auth: byName{}, Limits: one})
	url, ann := s.URL+"/mcp", []string{"Authorization", "Bearer ann"}
	session := openAble(t, url, ann...)
	e := stream(t, url, session, callAsk("1", askRoots), ann...)
	e.next()
	post(t, url, session, `{"jsonrpc":"2.0","id":"pd:1","result":{}}`, ann...)
	e.next()
	if got := e.next(); !strings.Contains(got, `"answers":[{}]`) {
		t.Errorf("got %s", got)
	}
	if _, _, body := post(t, url, session, callAsk("2", `{"method":"no/such"}`), ann...); !strings.Contains(body, `"id":2`) {
		t.Errorf("the next one: got %s", body)
	}
}

// TestAskWithoutEvents has a request that takes no events: its agent is asked where it listens, if it does.
func TestAskWithoutEvents(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}})
	url := s.URL + "/mcp"
	session := openAble(t, url)
	e := stream(t, url, session, "")
	answered := make(chan string, 1)
	go func() {
		_, _, body := post(t, url, session, callAsk("1", askRoots), "Accept", "application/json")
		answered <- body
	}()
	if got := e.next(); got != `{"jsonrpc":"2.0","id":"pd:1","method":"roots/list"}` {
		t.Errorf("question: got %s", got)
	}
	post(t, url, session, `{"jsonrpc":"2.0","id":"pd:1","result":{}}`)
	if got := <-answered; got != `{"jsonrpc":"2.0","id":1,"result":{"content":[],"answers":[{}]}}` {
		t.Errorf("got %s", got)
	}
}

func TestAskNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeFace()
		ctx, cancel := context.WithCancel(t.Context())
		h, err := Handler(ctx, HTTPOptions{Options: Options{Face: f}})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {session}}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		ask(ask("", able(everything)).Header().Get(sessionHeader), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		began := time.Now()
		if _, err := (<-f.peers).Ask(t.Context(), "roots/list", nil); err == nil || !strings.Contains(err.Error(), "does not listen") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != listenSoon {
			t.Errorf("took %v, want %v", took, listenSoon)
		}
		cancel()
		synctest.Wait()
	})
}
