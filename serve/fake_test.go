package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/serve/framing"
)

// fakeFace is a small working face with a few tools.
type fakeFace struct {
	Defaults
	cancelled atomic.Int32
	started   chan string // receives the name of each blocking call
	peers     chan Peer   // receives each agent that is attached, nil for one detached
	heard     chan string // receives notifications of agents
	able      string      // capabilities
	relayed   string      // what the tool relay answers before it has inputs
}

func newFakeFace() *fakeFace {
	return &fakeFace{started: make(chan string, 1000), peers: make(chan Peer, 1000), heard: make(chan string, 1000)}
}

func (f *fakeFace) Capabilities(dispatch.Agent) json.RawMessage {
	if f.able == "" {
		return nil
	}
	return json.RawMessage(f.able)
}

func (f *fakeFace) Notified(_ dispatch.Agent, method string, params json.RawMessage) {
	f.heard <- method + " " + string(params)
}

func (f *fakeFace) Attach(p Peer) func() {
	f.peers <- p
	return func() { f.peers <- nil }
}

func (f *fakeFace) Handle(ctx context.Context, r Request) (dispatch.Pieces, error) {
	switch r.Method {
	case "resources/read", "prompts/get":
		raw, err := f.call(ctx, Call{Agent: r.Agent, Name: "ask", Arguments: json.RawMessage(`{"method":"roots/list"}`), Contact: r.Contact})
		return dispatch.Pieces{raw}, err
	case "resources/list":
		return dispatch.Pieces{[]byte(`{"resources":[]}`)}, nil
	case "resources/subscribe":
		if gjson.GetBytes(r.Params, "uri").String() == "no://such" {
			return nil, &Fault{Code: -32002, Message: "no such resource", Data: json.RawMessage(`{"uri":"no://such"}`)}
		}
		f.heard <- r.Method + " " + string(r.Params)
		return dispatch.Pieces{[]byte("{}")}, nil
	case "resources/unsubscribe":
		f.heard <- r.Method + " " + string(r.Params)
		return dispatch.Pieces{[]byte("{}")}, nil
	}
	return nil, ErrNoMethod
}

func (f *fakeFace) Instructions(dispatch.Agent) string { return "Call echo." }

func (f *fakeFace) Tools(dispatch.Agent) []json.RawMessage {
	return []json.RawMessage{
		json.RawMessage(`{"name":"echo","description":"Says it again.","inputSchema":{"type":"object","allOf":[]}}`),
		json.RawMessage("{\"name\":\"wait\",\n\"inputSchema\":{\"type\":\"object\"}}"),
	}
}

func (f *fakeFace) Call(ctx context.Context, c Call) (dispatch.Pieces, error) {
	raw, err := f.call(ctx, c)
	if half := len(raw) / 2; c.Name == "big" { // in pieces, as large results come
		return dispatch.Pieces{raw[:half], raw[half:]}, err
	}
	return dispatch.Pieces{raw}, err
}

func (f *fakeFace) call(ctx context.Context, c Call) (json.RawMessage, error) {
	switch c.Name {
	case "echo":
		if c.Arguments == nil {
			c.Arguments = json.RawMessage("null")
		}
		return json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":"ok"}],"structuredContent":%s,"big":12345678901234567890,"cost":1.10}`, c.Arguments)), nil
	case "who":
		return json.RawMessage(fmt.Sprintf(`{"content":[],"client":%q,"principal":%q,"hasSession":%t}`, c.Agent.Client, c.Agent.Principal, c.Agent.Session != "")), nil
	case "pretty":
		return json.RawMessage("{\n  \"content\": [],\r\n  \"text\": \"a\\nb\"\n}\n"), nil
	case "meta":
		return json.RawMessage(`{"content":[],"_meta":{"mine":1}}`), nil
	case "steps":
		for i := range 3 {
			if c.Progress != nil {
				c.Progress(json.RawMessage(fmt.Sprintf(`{"progress":%d,"total":3,"progressToken":"not mine"}`, i+1)))
			}
		}
		return json.RawMessage(`{"content":[]}`), nil
	case "ask": // asks what its arguments say, as often as they say, one after the other
		var answers []string
		for range max(1, gjson.GetBytes(c.Arguments, "times").Int()) {
			var params json.RawMessage
			if p := gjson.GetBytes(c.Arguments, "params"); p.Exists() {
				params = json.RawMessage(p.Raw)
			}
			raw, err := c.Ask(ctx, gjson.GetBytes(c.Arguments, "method").String(), params)
			if own, ok := errors.AsType[*dispatch.ServerError](err); ok {
				raw = json.RawMessage(fmt.Sprintf(`{"code":%d,"message":%q}`, own.Code, own.Message))
			} else if err != nil {
				f.cancelled.Add(1)
				raw = json.RawMessage(fmt.Sprintf("%q", err.Error()))
			}
			if c.Told != nil {
				c.Told("notifications/message", json.RawMessage(`{"level":"info","data":"asked"}`))
			}
			answers = append(answers, string(raw))
		}
		return json.RawMessage(`{"content":[],"answers":[` + strings.Join(answers, ",") + `]}`), nil
	case "askBoth": // asks two things at once
		var wg sync.WaitGroup
		answers := make([]string, 2)
		for i, method := range []string{"roots/list", "sampling/createMessage"} {
			wg.Go(func() {
				raw, err := c.Ask(ctx, method, json.RawMessage(`{}`))
				answers[i] = fmt.Sprintf("%s %v", raw, err)
			})
			f.started <- method
		}
		wg.Wait()
		return json.Marshal(map[string]any{"content": []any{}, "answers": answers})
	case "relay": // as a modern server asks
		if c.Inputs == nil {
			return json.RawMessage(f.relayed), nil
		}
		return json.RawMessage(fmt.Sprintf(`{"content":[],"inputs":%s,"state":%s}`, c.Inputs, orNull(c.State))), nil
	case "tell": // says so much before its result
		for i := range gjson.GetBytes(c.Arguments, "times").Int() {
			c.Told("notifications/message", json.RawMessage(fmt.Sprintf(`{"level":%q,"data":%d}`, levels[i%8], i)))
		}
		return json.RawMessage(`{"content":[]}`), nil
	case "wait":
		f.started <- c.Name
		<-ctx.Done()
		f.cancelled.Add(1)
		return json.RawMessage(`{"content":[],"isError":true}`), nil
	case "big":
		size := gjson.GetBytes(c.Arguments, "size").Int()
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"content":[{"type":"text","text":"%s"}]}`, strings.Repeat("x", int(size)))
		return b.Bytes(), nil
	case "panic":
		panic("a bug")
	case "junk":
		return json.RawMessage("not json"), nil
	}
	return nil, fmt.Errorf("unknown tool %q", c.Name)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// talk is an agent at the other end of Stdio.
type talk struct {
	t    testing.TB
	in   *io.PipeWriter
	out  *framing.Reader
	done chan error
}

func startStdio(t testing.TB, o Options) *talk {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	k := &talk{t: t, in: inW, out: framing.NewReader(outR, 1<<30, o.Framing), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		k.done <- Stdio(ctx, o, inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
	})
	return k
}

func (k *talk) send(line string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Fatalf("write: %v", err)
	}
}

func (k *talk) read() string {
	k.t.Helper()
	line, err := k.out.Next()
	if err != nil {
		k.t.Fatalf("read: %v", err)
	}
	return string(line)
}
