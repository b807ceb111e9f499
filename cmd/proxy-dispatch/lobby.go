package main

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// answerable is what servers are told that agents can be asked, where the agent is not known yet or several share a session:
// an agent that can't be asked is found out when it is.
const answerable = `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}`

// lobby knows the agents that can be spoken to, whatever face they see, so that a server's question which belongs to no
// call reaches the only one, and servers hear who uses them. It is safe for concurrent use.
type lobby struct {
	fleet *downstream.Fleet
	// only is set over stdio, where the one agent is who all servers are told of. It is called each time that is known.
	only func()

	mu    sync.Mutex
	peers []serve.Peer
}

// behind is a face whose agents wait in the lobby.
func (l *lobby) behind(f serve.Face) serve.Face { return lobbied{f, l} }

type lobbied struct {
	serve.Face
	lobby *lobby
}

// Attach lets the lobby know as well.
func (f lobbied) Attach(p serve.Peer) (detach func()) {
	leave := f.lobby.enter(p)
	done := f.Face.Attach(p)
	return func() { done(); leave() }
}

func (l *lobby) enter(p serve.Peer) (leave func()) {
	l.mu.Lock()
	l.peers = append(l.peers, p)
	l.mu.Unlock()
	if l.only != nil {
		l.fleet.Introduce(through(p))
		l.only()
	}
	return func() {
		l.mu.Lock()
		l.peers = slices.DeleteFunc(l.peers, func(other serve.Peer) bool { return other == p })
		last := !slices.ContainsFunc(l.peers, func(other serve.Peer) bool { return other.Agent().Session == p.Agent().Session })
		l.mu.Unlock()
		if last {
			l.fleet.Leave(p.Agent().Session)
		}
	}
}

// through is an agent as servers see it.
func through(p serve.Peer) downstream.Client {
	c := downstream.Client{Capabilities: p.Capabilities()}
	if name := rawjson.Unquote(rawjson.Member(p.ClientInfo(), "name")); name != "" {
		c.Info = downstream.ClientInfo{Name: name + "-through-proxy", Version: rawjson.Unquote(rawjson.Member(p.ClientInfo(), "version"))}
	} else {
		c.Info = ourselves()
	}
	return c
}

func ourselves() downstream.ClientInfo {
	return downstream.ClientInfo{Name: "proxy-dispatch", Version: versionText()}
}

// clientOf is the agent of a session, for servers that have a session with each.
func (l *lobby) clientOf(session string) (downstream.Client, bool) {
	if p := l.find(session); p != nil {
		return through(p), true
	}
	return downstream.Client{}, false
}

// find returns the agent of a session, or the only agent there is; nil if it can't be told.
func (l *lobby) find(session string) serve.Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found serve.Peer
	for _, p := range l.peers {
		switch one := p.Agent().Session; {
		case session != "" && one == session:
			return p
		case session == "" && (found == nil || found.Agent().Session == one):
			found = p
		case session == "":
			return nil
		}
	}
	return found
}

// asked answers a server's question that belongs to no call.
func (l *lobby) asked(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error) {
	p := l.find(downstream.AskerOf(ctx))
	if p == nil {
		return nil, &downstream.RPCError{Code: mcp.METHOD_NOT_FOUND,
			Message: "nobody can be asked: no agent is there, or several share this connection and nothing tells which one is meant; perAgent gives each its own"}
	}
	return asking(server, p.Ask)(ctx, method, params)
}
