package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

func startHTTP(t *testing.T, o HTTPOptions) *httptest.Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h, err := Handler(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() { cancel(); s.CloseClientConnections(); s.Close() })
	return s
}

// placeless takes out of events where they stand in their stream.
var placeless = regexp.MustCompile(`(?m)^id: \d+-(0\nretry: \d+\ndata: \n|\d+)\n`)

// post sends one message and returns the status, the session header and the body.
func post(t testing.TB, url, session, body string, header ...string) (int, string, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
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
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get(sessionHeader), placeless.ReplaceAllString(string(text), "")
}

const hello = `{"jsonrpc":"2.0","id":9007199254740993,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}`

func open(t testing.TB, url string, header ...string) string {
	t.Helper()
	status, session, body := post(t, url, "", hello, header...)
	if status != http.StatusOK || session == "" || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":9007199254740993,"result":`) {
		t.Fatalf("initialize: got %d, session %q, %s", status, session, body)
	}
	return session
}

func TestGuard(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace(), MaxMessage: 1000}, Hosts: []string{"Proxy.Example"}})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	session := open(t, s.URL+"/mcp")
	cases := []struct {
		name   string
		header []string
		body   string
		want   int
	}{
		{"no origin", nil, ping, 200},
		{"loopback origin", []string{"Origin", "http://localhost:6274"}, ping, 200},
		{"loopback origin of IPv6", []string{"Origin", "https://[::1]:6274"}, ping, 200},
		{"own origin", []string{"Origin", "https://proxy.example"}, ping, 200},
		{"foreign origin", []string{"Origin", "https://evil.example"}, ping, 403},
		{"origin that begins like ours", []string{"Origin", "http://localhost.evil.example"}, ping, 403},
		{"origin with a user", []string{"Origin", "http://localhost@evil.example"}, ping, 403},
		{"origin with a path", []string{"Origin", "http://localhost/x"}, ping, 403},
		{"null origin", []string{"Origin", "null"}, ping, 403},
		{"malformed origin", []string{"Origin", "http://local host"}, ping, 403},
		{"origin of a file", []string{"Origin", "file://"}, ping, 403},
		{"loopback host", []string{"Host", "LOCALHOST:1"}, ping, 200},
		{"loopback address", []string{"Host", "127.9.9.9"}, ping, 200},
		{"own host", []string{"Host", "proxy.example:443"}, ping, 200},
		{"foreign host", []string{"Host", "evil.example:8931"}, ping, 403},
		{"host with a user", []string{"Host", "localhost@evil.example"}, ping, 403},
		{"other content", []string{"Content-Type", "text/plain"}, ping, 415},
		{"body at the limit", nil, ping + strings.Repeat(" ", 1000-len(ping)), 200},
		{"body over the limit", nil, ping + strings.Repeat(" ", 1001-len(ping)), 413},
		{"large header", []string{"X-Large", strings.Repeat("x", 2<<20)}, ping, 431},
		{"bad JSON", nil, "{", 400},
		{"batch", nil, "[" + ping + "]", 400},
		{"unknown protocol version", []string{"Mcp-Protocol-Version", "2025-01-01"}, ping, 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got, _, body := post(t, s.URL+"/mcp", session, c.body, c.header...); got != c.want {
				t.Errorf("got status %d, want %d: %s", got, c.want, body)
			}
		})
	}
}

func TestHTTPAnswers(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace(), Version: "1"}})
	url := s.URL + "/mcp"
	session := open(t, url)
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"m","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	modernCall := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "who"}
	const decorated = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"proxy-dispatch","version":"1"}},`
	cases := []struct {
		name, session, body string
		header              []string
		status              int
		want                string
	}{
		{"ping", session, `{"jsonrpc":"2.0","id":"a\u0062","method":"ping"}`, nil, 200, `{"jsonrpc":"2.0","id":"a\u0062","result":{}}`},
		{"huge id", session, `{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}`, nil, 200, `{"jsonrpc":"2.0","id":9223372036854775808,"result":{}}`},
		{"null id", session, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string or a number"}}`},
		{"call", session, `{"jsonrpc":"2.0","id":1e3,"method":"tools/call","params":{"name":"who"}}`, nil, 200, `{"jsonrpc":"2.0","id":1e3,"result":{"content":[],"client":"tester","principal":"","hasSession":true}}`},
		{"progress", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"p"}}}`, nil, 200, sse(
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":3}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2,"total":3}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":3,"total":3}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)},
		{"progress without events", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"p"}}}`, []string{"Accept", "application/json"}, 200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`},
		{"line breaks", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pretty"}}`, nil, 200, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"text":"a\nb"}}`},
		{"unknown tool", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody"}}`, nil, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool \"nobody\""}}`},
		{"unknown method", session, `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, nil, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method no/such not found"}}`},
		{"notification", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{"response", session, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, nil, 202, ""},
		{"no session", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Mcp-Session-Id header is missing: initialize first"}}`},
		{"unknown session", "nobody", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, 404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no such session: initialize again"}}`},
		{"modern call", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who",` + modern + `}}`, modernCall, 200, `{"jsonrpc":"2.0","id":1,"result":{` + decorated + `"content":[],"client":"m","principal":"","hasSession":false}}`},
		{"modern call, no headers", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who",` + modern + `}}`, nil, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"the Mcp-Protocol-Version header is missing"}}`},
		{"modern headers, old call", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who"}}`, modernCall, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"missing or invalid _meta field io.modelcontextprotocol/protocolVersion"}}`},
		{"modern call, other name", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + modern + `}}`, modernCall, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"the Mcp-Name header says \"who\", the message \"echo\""}}`},
		{"modern discover", "", `{"jsonrpc":"2.0","id":1e0,"method":"server/discover","params":{` + modern + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"}, 200,
			`{"jsonrpc":"2.0","id":1e0,"result":{"resultType":"complete","ttlMs":300000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"proxy-dispatch","version":"1"}},"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"tools":{}},"instructions":"Call echo."}}`},
		{"modern listen", "", `{"jsonrpc":"2.0","id":1e0,"method":"subscriptions/listen","params":{"notifications":{},` + modern + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}, 200, sse(
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1e0},"notifications":{}}}`,
			`{"jsonrpc":"2.0","id":1e0,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"proxy-dispatch","version":"1"},"io.modelcontextprotocol/subscriptionId":1e0}}}`)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := post(t, url, c.session, c.body, c.header...)
			if status != c.status || body != c.want {
				t.Errorf("got %d %s\nwant %d %s", status, body, c.status, c.want)
			}
		})
	}
}

func sse(messages ...string) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("event: message\ndata: " + m + "\n\n")
	}
	return b.String()
}

func TestHTTPPaths(t *testing.T) {
	s := startHTTP(t, HTTPOptions{
		Options: Options{Face: newFakeFace()},
		Extra:   map[string]http.Handler{"/metrics": http.NotFoundHandler()},
		Ready:   func() error { return errors.New("two servers are starting") },
	})
	session := open(t, s.URL+"/mcp/dispatch")
	if status, _, _ := post(t, s.URL+"/mcp", session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 404 {
		t.Errorf("session at another path: got %d, want 404", status)
	}
	for path, want := range map[string]string{"/healthz": "200 ok\n", "/readyz": "503 two servers are starting\n", "/metrics": "404 404 page not found\n"} {
		answer, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if got := fmt.Sprintf("%d %s", answer.StatusCode, body); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestHTTPAuth(t *testing.T) {
	note := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "open") })
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}, Addr: "0.0.0.0:0", Auth: byName{}, Open: map[string]http.Handler{"/note/": note}})
	if status, _, body := post(t, s.URL+"/mcp", "", hello); status != 401 || strings.Contains(body, "secret") {
		t.Errorf("no token: got %d %s, want 401", status, body)
	}
	ann := open(t, s.URL+"/mcp", "Authorization", "Bearer ann")
	who := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who"}}`
	if _, _, body := post(t, s.URL+"/mcp", ann, who, "Authorization", "Bearer ann"); !strings.Contains(body, `"principal":"ann"`) {
		t.Errorf("ann: got %s", body)
	}
	if status, _, _ := post(t, s.URL+"/mcp", ann, who, "Authorization", "Bearer bob"); status != 404 {
		t.Errorf("bob in the session of ann: got %d, want 404", status)
	}
	if status, _, body := post(t, s.URL+"/mcp", "", hello, "Authorization", "Bearer eve"); status != 403 || strings.Contains(body, "secret") {
		t.Errorf("eve: got %d %s, want 403", status, body)
	}
	if answer, err := http.Get(s.URL + "/mcp"); err != nil || answer.Header.Get("WWW-Authenticate") != `Bearer scope="s"` {
		t.Errorf("the challenge: got %v, %v", answer, err)
	}
	if answer, err := http.Get(s.URL + "/note/below"); err != nil || answer.StatusCode != 200 {
		t.Errorf("an open path without a token: got %v, %v, want 200", answer, err)
	}
	if answer, err := http.Get(s.URL + "/healthz"); err != nil || answer.StatusCode != 200 {
		t.Errorf("healthz without a token: got %v, %v, want 200", answer, err)
	}
}

// byName lets everybody in who gives a name, save eve.
type byName struct{}

func (byName) Enter(r *http.Request) (dispatch.Agent, error) {
	if name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && name != "eve" {
		return dispatch.Agent{Principal: name}, nil
	}
	return dispatch.Agent{}, errors.New("secret reason")
}

func (byName) Refuse(r *http.Request, _ error) (int, string) {
	if r.Header.Get("Authorization") != "" {
		return http.StatusForbidden, ""
	}
	return http.StatusUnauthorized, `Bearer scope="s"`
}

func TestHTTPRefusesAddress(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "proxy.example:0"} {
		if err := HTTP(t.Context(), HTTPOptions{Options: Options{Face: newFakeFace()}, Addr: addr}); !errors.Is(err, ErrNeedsAuth) {
			t.Errorf("%s: got %v, want ErrNeedsAuth", addr, err)
		}
	}
}

func TestHTTPCancel(t *testing.T) {
	cases := []struct {
		name string
		end  func(t *testing.T, s *httptest.Server, session string)
	}{
		{"cancelled", func(t *testing.T, s *httptest.Server, session string) {
			post(t, s.URL+"/mcp", session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
		}},
		{"session deleted", func(t *testing.T, s *httptest.Server, session string) {
			r, _ := http.NewRequest(http.MethodDelete, s.URL+"/mcp", nil)
			r.Header.Set(sessionHeader, session)
			if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != 200 {
				t.Errorf("delete: got %v, %v, want 200", answer, err)
			}
			if status, _, _ := post(t, s.URL+"/mcp", session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 404 {
				t.Errorf("after delete: got %d, want 404", status)
			}
		}},
		{"agent gone", func(_ *testing.T, s *httptest.Server, _ string) { s.CloseClientConnections() }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeFace()
			s := startHTTP(t, HTTPOptions{Options: Options{Face: f}})
			session := open(t, s.URL+"/mcp")
			var wg sync.WaitGroup
			wg.Go(func() {
				r, _ := http.NewRequest(http.MethodPost, s.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait"}}`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set(sessionHeader, session)
				if answer, err := http.DefaultClient.Do(r); err == nil {
					answer.Body.Close()
				}
			})
			<-f.started
			c.end(t, s, session)
			wg.Wait()
			s.Close() // waits for the call
			if got := f.cancelled.Load(); got != 1 {
				t.Errorf("calls cancelled: got %d, want 1", got)
			}
		})
	}
}

func TestHTTPManyAgentsAtOnce(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}})
	var wg sync.WaitGroup
	for agent := range 8 {
		session := open(t, s.URL+"/mcp")
		for call := range 8 {
			wg.Go(func() {
				id := fmt.Sprintf("%d-%d", agent, call)
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":%q}}}`, id, id)
				_, _, got := post(t, s.URL+"/mcp", session, body)
				var want []string
				for step := range 3 {
					want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%q,"progress":%d,"total":3}}`, id, step+1))
				}
				want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"content":[]}}`, id))
				if got != sse(want...) {
					t.Errorf("call %s: got %s", id, got)
				}
			})
		}
	}
	wg.Wait()
}

func TestHTTPBigResult(t *testing.T) {
	const size = 20 << 20
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}})
	session := open(t, s.URL+"/mcp")
	want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}`
	_, _, got := post(t, s.URL+"/mcp", session, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"size":%d}}}`, size))
	if got != want {
		t.Errorf("big result differs: got %d bytes, want %d", len(got), len(want))
	}
}

func TestSessionsEnd(t *testing.T) {
	h, err := Handler(t.Context(), HTTPOptions{Options: Options{Face: newFakeFace()}, SessionIdle: time.Nanosecond, MaxSessions: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	first := open(t, s.URL+"/mcp")
	second := open(t, s.URL+"/mcp") // the first one is idle and makes room
	if status, _, _ := post(t, s.URL+"/mcp", first, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 404 {
		t.Errorf("idle session: got %d, want 404", status)
	}
	r, _ := http.NewRequest(http.MethodGet, s.URL+"/mcp", nil)
	r.Header.Set(sessionHeader, second)
	listening, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, _ := post(t, s.URL+"/mcp", "", hello); status != 503 {
		t.Errorf("no room: got %d, want 503", status)
	}
	listening.Body.Close()
}

func TestHTTPShutdown(t *testing.T) {
	f := newFakeFace()
	ctx, cancel := context.WithCancel(t.Context())
	at := make(chan net.Addr, 1)
	done := make(chan error, 1)
	go func() {
		done <- HTTP(ctx, HTTPOptions{Options: Options{Face: f}, Addr: "127.0.0.1:0", OnListen: func(a net.Addr) { at <- a }})
	}()
	url := "http://" + (<-at).String() + "/mcp"
	session := open(t, url)
	answered := make(chan string, 1)
	go func() {
		_, _, body := post(t, url, session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
		answered <- body
	}()
	<-f.started
	r, _ := http.NewRequest(http.MethodGet, url, nil)
	r.Header.Set(sessionHeader, session)
	listening, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Body.Close()
	began := time.Now()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Errorf("shutdown took %v, want at most 2s", took)
	}
	if got := <-answered; !strings.Contains(got, `"isError":true`) {
		t.Errorf("running call: got %s, want its own words", got)
	}
}

func TestClientOfTheLibrarySpeaksHTTP(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}})
			var options []transport.StreamableHTTPCOption
			if version == mcp.LATEST_LEGACY_PROTOCOL_VERSION {
				//lint:ignore SA1019 agents of the handshake eras listen
				options = append(options, transport.WithContinuousListening())
			}
			c, err := client.NewStreamableHttpClient(s.URL+"/mcp", options...)
			if err != nil {
				t.Fatal(err)
			}
			exercise(t, version, c)
		})
	}
}

func TestHTTPSpeaksTLS(t *testing.T) {
	donor := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	defer donor.Close()
	ctx, cancel := context.WithCancel(t.Context())
	at, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		done <- HTTP(ctx, HTTPOptions{Options: Options{Face: newFakeFace()}, Addr: "127.0.0.1:0", TLS: donor.TLS.Clone(), OnListen: func(a net.Addr) { at <- a }})
	}()
	answer, err := donor.Client().Get("https://" + (<-at).String() + "/readyz")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("got %v, %v, want 200", answer, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("end: got %v, want nil", err)
	}
}
