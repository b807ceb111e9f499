package main

import (
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/transparent"
)

// transparentFace makes the face transparent.
func (p *program) transparentFace() serve.Face {
	t := p.cfg.Transparent
	return p.passing(transparent.Options{Plain: t.Names == "plain", Spill: t.Spill})
}

// restFace answers for resources and prompts in tool views, by their plain names.
func (p *program) restFace() serve.Face { return p.passing(transparent.Options{Plain: true}) }

// passing makes a face that follows what the catalog and the servers say until Close.
func (p *program) passing(o transparent.Options) serve.Face {
	if p.wishes == nil {
		p.wishes = transparent.NewWishes(p.dispatcher, surroundings{p}, p.log)
		p.closers = append(p.closers, func() error { p.wishes.Close(); return nil })
	}
	o.Dispatcher, o.Servers, o.Wishes, o.Patience, o.Log = p.dispatcher, surroundings{p}, p.wishes, p.cfg.Transparent.Wait, p.log
	f := transparent.New(o)
	p.passed = append(p.passed, f)
	unwatch := p.catalog.Watch(f.Changed)
	p.closers = append(p.closers, func() error { unwatch(); return nil })
	return f
}

// surroundings is what the face transparent does with servers beside requests.
type surroundings struct{ *program }

// State implements transparent.Servers.
func (s surroundings) State(server string) string {
	state, _ := s.fleet.State(server)
	return string(state)
}

// Own implements transparent.Servers.
func (s surroundings) Own(server string) bool {
	c := s.serverNamed(server)
	return c != nil && c.PerAgent
}

// Notify implements transparent.Servers.
func (s surroundings) Notify(a dispatch.Agent, server, method string, params json.RawMessage) {
	s.fleet.NotifyAs(a.Session, server, method, params)
}
