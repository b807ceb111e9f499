package main

import (
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/transparent"
)

// transparentFace makes the face transparent, which follows what the catalog and the servers say until Close.
func (p *program) transparentFace() serve.Face {
	t := p.cfg.Transparent
	servers := surroundings{p}
	p.transparent = transparent.New(transparent.Options{Dispatcher: p.dispatcher, Servers: servers,
		Plain: t.Names == "plain", Patience: t.Wait, Spill: t.Spill, Log: p.log})
	unwatch := p.catalog.Watch(p.transparent.Changed)
	p.closers = append(p.closers, func() error { unwatch(); p.transparent.Close(); return nil })
	return p.transparent
}

// restFace answers for resources and prompts in tool views, by their plain names.
func (p *program) restFace() serve.Face {
	f := transparent.New(transparent.Options{Dispatcher: p.dispatcher, Servers: surroundings{p}, Plain: true, Patience: p.cfg.Transparent.Wait, Log: p.log})
	unwatch := p.catalog.Watch(f.Changed)
	p.closers = append(p.closers, func() error { unwatch(); f.Close(); return nil })
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
