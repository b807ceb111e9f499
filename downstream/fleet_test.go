package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestResultsAreExact(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	tests := []struct {
		name, method, params, want string
	}{
		{"unknown kinds, numbers, order, spaces", "exact", ``, exactResult},
		{"params as given", "echo", `{"b":1.10,"a":12345678901234567890,"html":"<&>","u":"\u003c"}`, `{"b":1.10,"a":12345678901234567890,"html":"<&>","u":"\u003c"}`},
		{"line breaks between tokens go", "echo", "{\n\t\"a\": [1,\r\n 2],\n\"s\":\"x\\ny\"\n}", `{"a":[1,2],"s":"x\ny"}`},
		{"no params", "echo", ``, `null`},
		{"id as a string", "string-id", ``, `{"ok":true}`},
		{"batch", "batch", ``, `{"batched":1}`},
		{"requests of the server", "asks", ``, `{"replies":[{"jsonrpc":"2.0","id":"q 1","result":{}},{"jsonrpc":"2.0","id":98765432109876543210,"error":{"code":-32601,"message":"method not found"}}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := f.Do(t.Context(), Request{Server: "s", Method: tt.method, Params: json.RawMessage(tt.params)})
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	hello, err := f.Hello(t.Context(), "s")
	if err != nil || !bytes.Contains(hello, []byte(`"big":12345678901234567890`)) {
		t.Errorf("Hello: got %s, %v", hello, err)
	}
}

func TestServerErrorIsGivenAsSent(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	_, err := f.Do(t.Context(), Request{Server: "s", Method: "error"})
	rpc, ok := errors.AsType[*RPCError](err)
	if !ok || string(rpc.Raw) != exactError || rpc.RPCCode() != -32002 || rpc.Message != "no <such> thing" || string(rpc.Data) != `{"big":9007199254740993,"x":1.10}` {
		t.Errorf("got %#v", err)
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Fate != Ran || e.Server != "s" {
		t.Errorf("got %#v, want fate Ran of s", err)
	}
}

func TestFaults(t *testing.T) {
	short := func(s Server) Server { s.StartTimeout = 300 * time.Millisecond; return s }
	var log safeBuffer
	f := newFleet(t, Options{
		Servers: []Server{
			fixtureServer(t, "good"),
			fixtureServer(t, "crash", "crash"),
			short(fixtureServer(t, "silent", "silent")),
			short(fixtureServer(t, "deaf", "deaf")),
			fixtureServer(t, "babble", "babble"),
			fixtureServer(t, "slow", "slow"),
			{Name: "absent", Command: "/no/such/program", Describe: "absent ***"},
			{Name: "unset", Command: "x", Unset: errors.New("KEY hunter2secret not set (f.yaml:3)")},
			{Name: "off", Command: "x", Disabled: true},
		},
		Log:    slog.New(slog.NewTextHandler(&log, nil)),
		Redact: func(_, text string) string { return strings.ReplaceAll(text, "hunter2secret", "***") },
	})
	f.Start(t.Context())
	tests := []struct {
		server string
		is     error
		words  string
		state  State
	}{
		{"good", nil, "", StateReady},
		{"babble", nil, "", StateReady},
		{"slow", nil, "", StateReady},
		{"crash", ErrUnavailable, "exit status 3: Error: KEY *** is wrong", StateFailing},
		{"silent", ErrUnavailable, "no handshake within", StateFailing},
		{"deaf", ErrUnavailable, "no handshake within", StateFailing},
		{"absent", ErrUnavailable, "absent ***: start: ", StateFailing},
		{"unset", ErrUnavailable, "KEY *** not set (f.yaml:3)", StateFailing},
		{"off", ErrDisabled, "disabled", StateDisabled},
		{"nobody", ErrUnknownServer, "unknown server", StateFailing},
	}
	for _, tt := range tests {
		t.Run(tt.server, func(t *testing.T) {
			_, err := f.Do(t.Context(), Request{Server: tt.server, Method: "ping"})
			if !errors.Is(err, tt.is) || err != nil && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v, want %v with %q", err, tt.is, tt.words)
			}
			if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Fate != NotSent) {
				t.Errorf("got %#v, want fate NotSent", err)
			}
			if state, why := f.State(tt.server); state != tt.state || strings.Contains(why, "hunter2") {
				t.Errorf("state: got %s (%s), want %s", state, why, tt.state)
			}
		})
	}
	if lines := log.String(); strings.Contains(lines, "hunter2") || !strings.Contains(lines, "loading module 0 of ***") || strings.Count(lines, "loading module") > 200 {
		t.Errorf("log: %d lines of babble; secrets shown: %v", strings.Count(lines, "loading module"), strings.Contains(lines, "hunter2"))
	}
}

func TestLostMidCall(t *testing.T) {
	tests := []struct {
		name, method string
		idempotent   bool
	}{
		{"exit", "die", false},
		{"half a line", "half", false},
		{"again if idempotent, and then no more", "die", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
			before := pidOf(t, f)
			_, err := f.Do(t.Context(), Request{Server: "s", Method: tt.method, Idempotent: tt.idempotent})
			if e, ok := errors.AsType[*Error](err); !ok || e.Fate != SentUnknown || !errors.Is(err, ErrUnavailable) {
				t.Fatalf("got %v, want SentUnknown and ErrUnavailable", err)
			}
			if after := pidOf(t, f); after == before {
				t.Errorf("got the same process, want another")
			}
		})
	}
}

func pidOf(t *testing.T, f *Fleet) int {
	t.Helper()
	raw, err := f.Fetch(t.Context(), "s", "pid", nil)
	var got struct{ Pid int }
	if err != nil || json.Unmarshal(raw, &got) != nil {
		t.Fatalf("pid: %s, %v", raw, err)
	}
	return got.Pid
}

func TestCancellationReachesTheServer(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	pidOf(t, f)
	tests := []struct {
		name    string
		ctx     func() (context.Context, context.CancelFunc)
		timeout time.Duration
		is      error
	}{
		{"caller gives up", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		}, 0, context.Canceled},
		{"timeout of the call", func() (context.Context, context.CancelFunc) { return t.Context(), func() {} }, 20 * time.Millisecond, ErrTimeout},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := tt.ctx()
			defer cancel()
			_, err := f.Do(ctx, Request{Server: "s", Method: "mute", Timeout: tt.timeout})
			if e, ok := errors.AsType[*Error](err); !ok || e.Fate != SentUnknown || !errors.Is(err, tt.is) {
				t.Fatalf("got %v, want SentUnknown and %v", err, tt.is)
			}
			eventually(t, "cancelled", func() bool {
				raw, err := f.Fetch(t.Context(), "s", "cancelled", nil)
				return err == nil && bytes.Count(raw, []byte("requestId")) == i+1
			})
		})
	}
}

func TestProgressInOrder(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	const calls = 1000
	for range calls {
		var got []string
		_, err := f.Do(t.Context(), Request{
			Server: "s", Method: "progress", Params: json.RawMessage(`{"n":3,"_meta":{"progressToken":"agent's","k":1.0}}`),
			Progress: func(p json.RawMessage) { got = append(got, string(p)) },
		})
		want := []string{`{"progress":0,"total":1.10}`, `{"progress":1,"total":1.10}`, `{"progress":2,"total":1.10}`}
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	}
	n := 0
	_, err := f.Do(t.Context(), Request{Server: "s", Method: "progress", Params: json.RawMessage(`{"n":1000}`), Progress: func(p json.RawMessage) {
		if !bytes.Contains(p, fmt.Appendf(nil, `"progress":%d,`, n)) {
			t.Errorf("got %s, want %d", p, n)
		}
		n++
	}})
	if err != nil || n != 1000 {
		t.Errorf("got %d, %v; want 1000", n, err)
	}
}

func TestTooLargeFailsOneCall(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}, MaxMessage: 1 << 20})
	before := pidOf(t, f)
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			size := 100_000
			if i%2 == 1 {
				size = 3 << 20
			}
			_, err := f.Do(t.Context(), Request{Server: "s", Method: "big", Params: fmt.Appendf(nil, `{"n":%d}`, size)})
			if large := size > 1<<20; large != errors.Is(err, ErrTooLarge) || !large && err != nil {
				t.Errorf("%d bytes: got %v", size, err)
			}
		})
	}
	calls.Wait()
	if pidOf(t, f) != before {
		t.Error("the session did not survive")
	}
}

func TestHugeLine(t *testing.T) {
	if testing.Short() {
		t.Skip("300 MB")
	}
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	_, err := f.Do(t.Context(), Request{Server: "s", Method: "big", Params: json.RawMessage(`{"n":300000000}`), Timeout: time.Minute})
	if !errors.Is(err, ErrTooLarge) || fateOf(err) != Ran {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	pidOf(t, f)
}

func TestStormOfChanges(t *testing.T) {
	var mu sync.Mutex
	heard := map[EventKind]int{}
	release := make(chan struct{})
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}, OnEvent: func(e Event) {
		<-release // a listener that is slow
		mu.Lock()
		defer mu.Unlock()
		heard[e.Kind]++
	}})
	if _, err := f.Fetch(t.Context(), "s", "storm", nil); err != nil {
		t.Fatal(err)
	}
	close(release)
	f.Close()
	if heard[ToolsChanged] == 0 || heard[ToolsChanged] > 3 || heard[Ready] != 1 || heard[Lost] != 1 {
		t.Errorf("got %v, want a few ToolsChanged, one Ready, one Lost", heard)
	}
}

func TestModernServer(t *testing.T) {
	tests := []struct {
		name, protocol string
		faults         []string
		version        string // of the request, "" = none
		fails          bool
	}{
		{"auto finds it", "auto", []string{"modern"}, "2026-07-28", false},
		{"asked for", "2026-07-28", []string{"modern"}, "2026-07-28", false},
		{"old one is not probed", "auto", []string{"none"}, "", false},
		{"old one where the new is asked for", "2026-07-28", []string{"none"}, "", true},
		{"new one where the old is asked for", "legacy", []string{"modern"}, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := fixtureServer(t, "s", tt.faults...)
			s.Protocol = tt.protocol
			f := newFleet(t, Options{Servers: []Server{s}})
			raw, err := f.Do(t.Context(), Request{
				Server: "s", Method: "line", Params: json.RawMessage(`{"name":"x","arguments":{"n":1.0}}`),
				Meta: json.RawMessage(`{"k":1e2,"progressToken":7}`), Progress: func(json.RawMessage) {},
			})
			if tt.fails {
				if !errors.Is(err, ErrUnavailable) {
					t.Errorf("got %s, %v; want ErrUnavailable", raw, err)
				}
				return
			}
			var line string
			if err != nil || json.Unmarshal(raw, &line) != nil {
				t.Fatalf("got %s, %v", raw, err)
			}
			_, params, _ := strings.Cut(line, `"params":`)
			params = regexp.MustCompile(`"progressToken":\d+`).ReplaceAllString(params, `"progressToken":N`)
			want := `{"name":"x","arguments":{"n":1.0},"_meta":{"k":1e2,"progressToken":N`
			if tt.version != "" {
				want += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"proxy-dispatch","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}`
			}
			if params != want+"}}}" {
				t.Errorf("got  %s\nwant %s", params, want+"}}}")
			}
		})
	}
}

func TestManyServersAtOnce(t *testing.T) {
	const many = 200
	var servers []Server
	for i := range many {
		s := fixtureServer(t, fmt.Sprint("s", i))
		s.StartTimeout = time.Minute
		servers = append(servers, s)
	}
	f := newFleet(t, Options{Servers: servers})
	f.Start(t.Context())
	var calls sync.WaitGroup
	for _, s := range servers {
		calls.Go(func() {
			if _, err := f.Do(t.Context(), Request{Server: s.Name, Method: "ping", Timeout: time.Minute}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	start := time.Now()
	f.Close()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("Close took %s, want 2 s at most", took)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := map[string][]Server{
		"no name":          {{Command: "x"}},
		"same name":        {{Name: "a", Command: "x"}, {Name: "a", Command: "y"}},
		"nothing to reach": {{Name: "a"}},
		"stdio of a URL":   {{Name: "a", URL: "http://x", Transport: "stdio"}},
		"unknown protocol": {{Name: "a", Command: "x", Protocol: "2020"}},
	}
	for name, servers := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := New(Options{Servers: servers}); err == nil {
				t.Error("got no error")
			}
		})
	}
}

// safeBuffer is a bytes.Buffer for several goroutines.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
