package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// ConfirmRules say which tools run only when a person agrees. Patterns match a tool's name or `connection/name`;
// DestructiveTools and WriteTools stand for what tools declare.
type ConfirmRules struct {
	Tools   []string
	Servers map[string][]string // patterns for a server's own names
}

const (
	// DestructiveTools are those that are neither read-only nor say that they destroy nothing: a tool that says
	// nothing of itself counts as destructive (MCP, ToolAnnotations).
	DestructiveTools = "@destructive"
	// WriteTools are those that do not say that they only read.
	WriteTools = "@write"
)

// confirmation is a compiled set of ConfirmRules.
type confirmation struct {
	global  confirmSet
	servers map[string]confirmSet
}

type confirmSet struct {
	destructive, write bool
	globs              []*glob.Pattern
}

func compileConfirm(r ConfirmRules) (confirmation, error) {
	global, err := compileConfirmSet(r.Tools)
	if err != nil {
		return confirmation{}, fmt.Errorf("tools.confirm: %w", err)
	}
	c := confirmation{global: global, servers: map[string]confirmSet{}}
	for name, patterns := range r.Servers {
		if c.servers[name], err = compileConfirmSet(patterns); err != nil {
			return confirmation{}, fmt.Errorf("tools.confirm of server %q: %w", name, err)
		}
	}
	return c, nil
}

func compileConfirmSet(patterns []string) (confirmSet, error) {
	var s confirmSet
	for _, p := range patterns {
		switch p {
		case DestructiveTools:
			s.destructive = true
		case WriteTools:
			s.write = true
		default:
			g, err := glob.Compile(p)
			if err != nil {
				return s, fmt.Errorf("pattern %q: %w", p, err)
			}
			s.globs = append(s.globs, g)
		}
	}
	return s, nil
}

// asks reports whether a call of the entry needs a person's word.
func (c confirmation) asks(e *catalog.Entry) bool {
	return e.Kind == catalog.Tool && (c.global.asks(e, e.Name, e.Server+"/"+e.Name) || c.servers[e.Server].asks(e, e.Name))
}

func (s confirmSet) asks(e *catalog.Entry, names ...string) bool {
	reads := e.ReadOnly != nil && *e.ReadOnly
	gentle := e.Destructive != nil && !*e.Destructive
	if s.write && !reads || s.destructive && !reads && !gentle {
		return true
	}
	for _, g := range s.globs {
		for _, n := range names {
			if g.Match(n) {
				return true
			}
		}
	}
	return false
}

// shownArguments is how many bytes of a call's arguments a person is shown.
const shownArguments = 1500

// confirm asks the person at the agent whether the call may run, where the rules want that. It is the last station
// before a call leaves, so that what is shown is what will be sent.
func (d *Dispatcher) confirm(ctx context.Context, x crossing, args json.RawMessage) error {
	c := x.person
	if !d.book.Load().confirmation.asks(x.own.Entry) || x.agreed || c.State != nil { // the first try of a repeated request was confirmed
		return nil
	}
	name := x.entry.Ref.String() // as the agent knows it
	if c.Ask == nil {
		return unconfirmed(name, nil)
	}
	answer, err := c.Ask(ctx, "elicitation/create", confirmQuestion(name, args))
	if err != nil {
		if ctx.Err() != nil {
			return &Error{Code: Timeout, Message: fmt.Sprintf("nobody confirmed %s in time", name), Retryable: true, Err: err}
		}
		return unconfirmed(name, err)
	}
	if action := rawjson.Unquote(rawjson.Member(answer, "action")); action != "accept" {
		return &Error{Code: Denied, Message: fmt.Sprintf("the person did not allow the call of %s", name), Do: "Do not repeat it unless the person asks for it"}
	}
	return nil
}

// confirmQuestion is an elicitation of a yes or no: its form has no fields, and accepting it is the yes.
func confirmQuestion(name string, args json.RawMessage) json.RawMessage {
	shown, err := rawjson.OneLine(args)
	if err != nil || len(shown) == 0 {
		shown = []byte("{}")
	}
	message := fmt.Sprintf("Allow the call of the tool %s?\nArguments: %s", clean.Text(name), clean.Text(clip(string(shown), shownArguments)))
	return arguments.Object{
		{Key: "message", Value: mustJSON(message)},
		{Key: "requestedSchema", Value: json.RawMessage(`{"type":"object","properties":{}}`)},
	}.Raw()
}

func unconfirmed(name string, err error) error {
	e := &Error{Code: ConfirmationRequired, Message: fmt.Sprintf("%s runs only when a person agrees (tools.confirm), and this agent's client cannot ask", name),
		Do: "Use a client that supports elicitation, or ask the person to take the tool out of tools.confirm in the configuration", Err: err}
	if refusal, ok := errors.AsType[*ServerError](err); ok {
		e.Message += ": " + clip(oneLine(refusal.Message), 200)
	}
	return e
}
