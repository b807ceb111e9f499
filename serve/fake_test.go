package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
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
}

func newFakeFace() *fakeFace { return &fakeFace{started: make(chan string, 1000)} }

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
