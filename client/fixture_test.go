package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/client"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/proxyface"
	"github.com/proxy-dispatch/proxy-dispatch/tests/house"
)

// inMemory is a Requester that asks faces without a transport between.
type inMemory struct {
	face  serve.Face
	agent dispatch.Agent

	mu   sync.Mutex
	sent []client.Request
}

// Request answers the two methods that a client of a proxy needs.
func (m *inMemory) Request(ctx context.Context, r client.Request) (json.RawMessage, error) {
	m.mu.Lock()
	m.sent = append(m.sent, r)
	m.mu.Unlock()
	switch r.Method {
	case "tools/list":
		return rawjson.Set([]byte(`{}`), "tools", rawjson.Array(m.face.Tools(m.agent))), nil
	case "tools/call":
		said, err := m.face.Call(ctx, serve.Call{Agent: m.agent, Name: rawjson.Unquote(rawjson.Member(r.Params, "name")),
			Arguments: rawjson.Member(r.Params, "arguments"), Contact: dispatch.Contact{Progress: r.Progress}})
		if err != nil {
			return nil, &client.RPCError{Code: -32602, Message: err.Error()}
		}
		return said.Raw(), nil
	}
	return nil, &client.RPCError{Code: -32601, Message: "no method " + r.Method}
}

func (m *inMemory) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, r := range m.sent {
		if r.Method == "tools/call" {
			n++
		}
	}
	return n
}

// fixture is a proxy with two servers behind it; names are the faces it shows.
func fixture(names ...string) (*inMemory, *house.House, error) {
	h, err := house.New(nil)
	if err != nil {
		return nil, nil, err
	}
	var faces []serve.Face
	for _, name := range names {
		switch name {
		case "proxy":
			f, err := proxyface.New(proxyface.Options{Dispatcher: h.Dispatcher})
			if err != nil {
				return nil, nil, err
			}
			faces = append(faces, f)
		case "dispatch":
			faces = append(faces, serve.DispatchFace(h.Dispatcher))
		default:
			return nil, nil, fmt.Errorf("there is no face %q", name)
		}
	}
	return &inMemory{face: serve.Several(faces...), agent: dispatch.Agent{Session: "s1"}}, h, nil
}

// connect is fixture for a test, with a client in front.
func connect(t testing.TB, o client.Options, names ...string) (*client.Client, *inMemory, *house.House) {
	t.Helper()
	m, h, err := fixture(names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return client.New(m, o), m, h
}

// scripted is a Requester that answers every use of a tool with the same result, as a proxy of others might.
type scripted struct{ tools, answer string }

func (s scripted) Request(_ context.Context, r client.Request) (json.RawMessage, error) {
	if r.Method == "tools/list" {
		return json.RawMessage(s.tools), nil
	}
	if strings.HasPrefix(s.answer, "error: ") {
		return nil, &client.RPCError{Code: -32603, Message: s.answer}
	}
	return json.RawMessage(s.answer), nil
}
