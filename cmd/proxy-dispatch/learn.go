package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/downstream"
)

// slow is how long a server may take to connect before people are told about it.
const slow = time.Second

// learn asks servers for their lists, telling people about those that take long. Which one failed and
// why stands in the snapshot.
func (c *console) learn(ctx context.Context, p *program, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	stop := c.narrate(p, names)
	defer stop()
	if err := p.catalog.Refresh(ctx, names...); err != nil {
		p.log.Debug("refresh", "error", err)
	}
	return ctx.Err()
}

// enabled returns the servers that keep accepts, disabled ones left out.
func (p *program) enabled(keep func(*catalog.Server) bool) []string {
	var names []string
	for i, s := range p.catalog.Snapshot().Servers {
		if !p.cfg.Servers[i].Disabled && keep(s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// unheard returns the enabled servers that must be asked before a name can be told unknown: the one the
// name is qualified with, or all nobody has heard of.
func (p *program) unheard(name, connection string) ([]string, error) {
	snapshot := p.catalog.Snapshot()
	if connection != "" && snapshot.Server(connection) == nil {
		return nil, nil // the dispatcher says so in its words
	}
	policy, err := view.Compile(p.rulesOf(p.cfg))
	if err != nil {
		return nil, err
	}
	only := connection
	if only == "" {
		only = policy.Over(snapshot).Connection(name)
	}
	if s := snapshot.Server(only); only != "" && s != nil {
		only = s.Name
	}
	return p.enabled(func(s *catalog.Server) bool { return !s.Known && (only == "" || s.Name == only) }), nil
}

// unreached returns one error for each server that was asked and could not be reached.
func (p *program) unreached(names []string) error {
	snapshot := p.catalog.Snapshot()
	var errs []error
	for _, name := range names {
		if why := p.reason(snapshot.Server(name)); why != "" {
			errs = append(errs, fmt.Errorf("%s: %s", name, why))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &exitError{exitUnreachable, errors.Join(errs...)}
}

// reason is why the last question to a server failed; empty if it did not.
func (p *program) reason(s *catalog.Server) string {
	if s == nil || s.Err == nil {
		return ""
	}
	if _, why := p.fleet.State(s.Name); why != "" {
		return p.redactor.Redact(why)
	}
	return p.redactor.Redact(s.Err.Error())
}

// narrate tells people, a line a server, which servers take longer than a moment to connect, and how it
// ended. On a terminal the line is live. The returned function waits for the last word.
func (c *console) narrate(p *program, names []string) (stop func()) {
	n := &narrator{console: c, program: p, names: names, started: time.Now(), told: map[string]bool{}}
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		timer := time.NewTimer(slow)
		defer timer.Stop()
		select {
		case <-quit:
			return
		case <-timer.C:
		}
		tick := time.NewTicker(slow / 4)
		defer tick.Stop()
		for {
			n.look()
			select {
			case <-quit:
				n.look()
				n.clear()
				return
			case <-tick.C:
			}
		}
	})
	return func() { close(quit); done.Wait() }
}

// narrator writes the live lines; one goroutine uses it.
type narrator struct {
	*console
	program *program
	names   []string
	started time.Time
	told    map[string]bool // servers whose waiting was told; false once their end was
	live    int             // lines on the terminal that will be rewritten
}

// look tells what is new since the last look: first what has ended, which stays, then the live lines.
func (n *narrator) look() {
	onTerminal := n.onTerminal(n.err)
	n.clear()
	after := time.Since(n.started).Round(100 * time.Millisecond)
	var live []string
	for _, name := range n.names {
		state, why := n.program.fleet.State(name)
		waiting, told := n.told[name]
		switch {
		case state == downstream.StateStarting && onTerminal:
			n.told[name] = true
			live = append(live, fmt.Sprintf("connecting to %s … %v", name, after))
		case state == downstream.StateStarting && !told:
			n.told[name] = true
			n.say("connecting to %s …", name)
		case state != downstream.StateStarting && waiting:
			n.told[name] = false
			if why != "" {
				why = ": " + why
			}
			n.say("%s %s after %v%s", name, state, after, why)
		}
	}
	for _, line := range live {
		n.say("%s", n.paint(n.err, grey, firstLine(line, 70)))
	}
	n.live = len(live)
}

// clear takes the live lines off the terminal.
func (n *narrator) clear() {
	if n.live > 0 {
		_, _ = io.WriteString(n.err, fmt.Sprintf("\x1b[%dA\x1b[J", n.live))
		n.live = 0
	}
}
