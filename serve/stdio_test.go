package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/serve/framing"
)

func TestProgressComesBeforeResult(t *testing.T) {
	k := startStdio(t, Options{Face: newFakeFace()})
	for i := range 1000 {
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"t%d"}}}`, i, i))
		for step := 1; step <= 3; step++ {
			want := fmt.Sprintf(`"params":{"progressToken":"t%d","progress":%d,"total":3}`, i, step)
			if got := k.read(); !strings.Contains(got, want) {
				t.Fatalf("call %d: got %s, want progress %d", i, got, step)
			}
		}
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, i)
		if got := k.read(); got != want {
			t.Fatalf("call %d: got %s, want %s", i, got, want)
		}
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	const calls = 64
	f := newFakeFace()
	k := startStdio(t, Options{Face: f, MaxCalls: calls / 2})
	for i := range calls {
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`, i))
	}
	for range calls / 2 {
		<-f.started
	}
	k.send(`{"jsonrpc":"2.0","id":"now","method":"tools/list"}`)
	if got := k.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"now","result":{"tools"`) {
		t.Fatalf("list behind %d calls: got %s", calls, got)
	}
	for i := range calls { // half of them never got their turn
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	k.send(`{"jsonrpc":"2.0","id":"echo","method":"tools/call","params":{"name":"meta"}}`)
	if got := k.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"echo","result"`) {
		t.Fatalf("after cancelling: got %s", got)
	}
}

func TestTooMuchWaiting(t *testing.T) {
	f := newFakeFace()
	k := startStdio(t, Options{Face: f, MaxMessage: 1000})
	long := strings.Repeat("x", 850)
	for i := range 2 {
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","arguments":%q}}`, i, long))
		<-f.started
	}
	k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":%q}}`, long))
	if got := k.read(); !strings.Contains(got, `"id":2,"error":{"code":-32000`) {
		t.Errorf("third large call: got %s, want error -32000", got)
	}
}

func TestBigResult(t *testing.T) {
	const size = 20 << 20
	k := startStdio(t, Options{Face: newFakeFace()})
	k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"size":%d}}}`, size))
	want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}`
	if got := k.read(); got != want {
		t.Errorf("big result differs: got %d bytes, want %d", len(got), len(want))
	}
}

func TestStdioEnd(t *testing.T) {
	const waiting = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}` + "\n"
	cases := []struct {
		name string
		end  func(in *io.PipeWriter, cancel func())
	}{
		{"input ends", func(in *io.PipeWriter, _ func()) { in.Close() }},
		{"input breaks", func(in *io.PipeWriter, _ func()) { in.CloseWithError(errors.New("gone")) }},
		{"context ends", func(_ *io.PipeWriter, cancel func()) { cancel() }},
		{"half a line", func(in *io.PipeWriter, _ func()) { io.WriteString(in, `{"jsonrpc":`); in.Close() }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeFace{started: make(chan string, 1)}
				in, inW := io.Pipe()
				defer inW.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() { done <- Stdio(ctx, Options{Face: f}, in, io.Discard) }()
				io.WriteString(inW, waiting)
				<-f.started
				began := time.Now()
				c.end(inW, cancel)
				if err := <-done; err != nil {
					t.Errorf("got %v, want nil", err)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("ended after %v, want at most 2s", took)
				}
				if got := f.cancelled.Load(); got != 1 {
					t.Errorf("calls cancelled: got %d, want 1", got)
				}
			})
		})
	}
}

func TestPipedRequestsAreAnswered(t *testing.T) {
	var out bytes.Buffer
	in := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"meta"}}` + "\r\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"meta"}}`
	if err := Stdio(t.Context(), Options{Face: newFakeFace()}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), `"result"`); got != 2 {
		t.Errorf("answers: got %d, want 2 in %s", got, out.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestBrokenOutputEnds(t *testing.T) {
	in, inW := io.Pipe()
	defer inW.Close()
	done := make(chan error, 1)
	go func() { done <- Stdio(t.Context(), Options{Face: newFakeFace()}, in, brokenWriter{}) }()
	io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the write error", err)
	}
}

// eras are the versions the library's client can be told to speak.
var eras = []string{mcp.LATEST_LEGACY_PROTOCOL_VERSION, mcp.LATEST_PROTOCOL_VERSION}

func TestClientOfTheLibrarySpeaksStdio(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			go Stdio(t.Context(), Options{Face: newFakeFace()}, inR, outW)
			exercise(t, version, client.NewClient(transport.NewIO(outR, inW, io.NopCloser(strings.NewReader("")))))
		})
	}
}

// exercise is one ordinary conversation through the library's own client.
func exercise(t *testing.T, version string, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	if err := c.Start(ctx); err != nil {
		t.Fatalf("start: %v", err)
	}
	defer c.Close()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = version
	hello.Params.ClientInfo = mcp.Implementation{Name: "library", Version: "1"}
	said, err := c.Initialize(ctx, hello)
	if err != nil || said.ProtocolVersion != version || said.Instructions != "Call echo." {
		t.Fatalf("initialize: got %+v, %v", said, err)
	}
	//lint:ignore SA1019 agents of the handshake eras ping
	if err := c.Ping(ctx); err != nil {
		t.Errorf("ping: %v", err)
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil || len(tools.Tools) != 2 {
		t.Errorf("list: got %v, %v, want two tools", tools, err)
	}
	steps := make(chan struct{}, 10)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			steps <- struct{}{}
		}
	})
	call := mcp.CallToolRequest{}
	call.Params.Name = "steps"
	call.Params.Meta = &mcp.Meta{ProgressToken: "p"}
	if _, err := c.CallTool(ctx, call); err != nil {
		t.Errorf("call: %v", err)
	}
	for range 3 {
		<-steps
	}
	call.Params.Name = "nobody"
	if _, err := c.CallTool(ctx, call); err == nil {
		t.Error("unknown tool: got nil, want an error")
	}
}

func FuzzStdio(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"))
	f.Add([]byte("Content-Length: 40\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"relay","requestState":"x","inputResponses":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{}}}}` + "\n" + `[{"jsonrpc":"2.0","id":1,"method":"ping"}]` + "\n" + `{"jsonrpc":"2.0","id":"pd:1","result":{}}` + "\n"))
	f.Add([]byte("\n\r\n[1]\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":{}}}}` + "\n"))
	f.Add(bytes.Repeat([]byte("x"), 400))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\ud800","method":"tools/list"}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pretty","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"))
	face := newFakeFace()
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte("wait")) {
			t.Skip("runs until cancelled")
		}
		in = append(in, "\n"+`{"jsonrpc":"2.0","id":"last","method":"ping"}`+"\n"...)
		var out bytes.Buffer
		defer func(began time.Time) {
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		}(time.Now())
		if err := Stdio(t.Context(), Options{Face: face, MaxMessage: 300}, bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		alive := false
		answers := framing.NewReader(&out, 1<<20, framing.Detect)
		for message, err := answers.Next(); err == nil; message, err = answers.Next() {
			if !json.Valid(message) {
				t.Errorf("wrote %q, which is not JSON", message)
			}
			alive = alive || bytes.Contains(message, []byte(`"last"`))
		}
		if framed := bytes.Contains(bytes.ToLower(in), []byte("content-")); !alive && !framed { // where it may be part of a message
			t.Errorf("the ping at the end was not answered; input %q", in)
		}
	})
}

func BenchmarkStdioEcho(b *testing.B) {
	k := startStdio(b, Options{Face: newFakeFace()})
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`
	b.ReportAllocs()
	for b.Loop() {
		k.send(line)
		k.read()
	}
}

func BenchmarkStdioBigResult(b *testing.B) {
	k := startStdio(b, Options{Face: newFakeFace()})
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"size":104857600}}}`
	b.SetBytes(100 << 20)
	for b.Loop() {
		k.send(line)
		k.read()
	}
}

// TestOnListed holds that the hook runs once, after the first list was answered.
func TestOnListed(t *testing.T) {
	listed := make(chan string, 3)
	k := startStdio(t, Options{Face: &fakeFace{}, OnListed: func() { listed <- "listed" }})
	k.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	k.read()
	if len(listed) != 0 {
		t.Error("the hook ran before a list was asked for")
	}
	for i := range 2 {
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i+2))
		k.read()
	}
	k.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	k.read()
	if got := len(listed); got != 1 {
		t.Errorf("got the hook %d times, want once", got)
	}
}

// TestLengthFraming has an agent that says how long each message is, told or found out.
func TestLengthFraming(t *testing.T) {
	frame := func(messages ...string) string {
		var b strings.Builder
		for _, m := range messages {
			fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(m), m)
		}
		return b.String()
	}
	const ping, pong = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`
	cases := []struct {
		name    string
		framing framing.Framing
		in, out string
	}{
		{"found out", framing.Detect, frame(ping, ping), frame(pong, pong)},
		{"told", framing.Length, frame(ping), frame(pong)},
		{"line breaks inside", framing.Detect, frame("{\"jsonrpc\":\"2.0\",\n\"id\":1,\n\"method\":\"ping\"}"), frame(pong)},
		{"bad header, then a good one", framing.Length, "Content-Type: x\r\n\r\n" + frame(ping),
			frame(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the header has no valid Content-Length"}}`, pong)},
		{"too long, then a good one", framing.Detect, frame(`{"jsonrpc":"2.0","id":2,"method":"`+strings.Repeat("x", 1000)+`"}`, ping),
			frame(`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"message is longer than 500 bytes"}}`, pong)},
		{"cut off", framing.Detect, frame(ping) + "Content-Length: 100\r\n\r\n{}", frame(pong)},
		{"shutdown", framing.Detect, frame(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`, ping), frame(pong)},
		{"lines", framing.Detect, ping + "\n", pong + "\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Stdio(t.Context(), Options{Face: newFakeFace(), Framing: c.framing, MaxMessage: 500}, strings.NewReader(c.in), &out); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != c.out {
				t.Errorf("got %q\nwant %q", got, c.out)
			}
		})
	}
}

// TestBatches holds that only agents of the one version that had them may send several messages at once.
func TestBatches(t *testing.T) {
	shake := strings.Replace(hello, "2025-11-25", "2025-03-26", 1)
	batch := `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"meta"}},7,{"jsonrpc":"2.0","id":3,"method":"initialize"}]`
	answer := `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"b","result":{"content":[],"_meta":{"mine":1}}},` +
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"message is not a JSON object"}},{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"initialize must not be part of a batch"}}]`
	cases := []struct{ name, batch, want string }{
		{"several", batch, answer},
		{"empty", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the batch is empty"}}`},
		{"no JSON", `[{]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"message is not valid JSON"}}`},
		{"too many", `[` + strings.Repeat("1,", 100) + `1]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch may hold 100 messages"}}`},
	}
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}})
	_, session, _ := post(t, s.URL+"/mcp", "", shake)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := startStdio(t, Options{Face: newFakeFace()})
			k.send(shake)
			k.read()
			k.send(c.batch)
			if got := k.read(); got != c.want {
				t.Errorf("stdio: got %s\nwant %s", got, c.want)
			}
			if _, _, got := post(t, s.URL+"/mcp", session, c.batch); got != c.want {
				t.Errorf("HTTP: got %s\nwant %s", got, c.want)
			}
		})
	}
	if status, _, body := post(t, s.URL+"/mcp", session, `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`); status != 202 || body != "" {
		t.Errorf("nothing to answer: got %d %s", status, body)
	}
}
