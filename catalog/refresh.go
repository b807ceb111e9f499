package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// slot holds the refreshes of one server: one may run and one may wait for it. A caller who comes while one runs needs
// the waiting one, for the running one may already have read what has changed since.
type slot struct {
	name          string
	options       ServerOptions
	running, next *flight
}

// flight is one refresh, shared by all who asked for it. err may be read once done is closed.
type flight struct {
	done chan struct{}
	err  error
}

// board returns a flight of the named server that has not begun yet, making one if needed.
func (c *Catalog) board(server string) (*flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.slot(server)
	if err != nil {
		return nil, err
	}
	if s.running == nil {
		return c.launch(s), nil
	}
	if s.next == nil {
		s.next = &flight{done: make(chan struct{})}
	}
	return s.next, nil
}

// underway returns the running flight of the named server, starting one if none runs.
func (c *Catalog) underway(server string) (*flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.slot(server)
	if err != nil {
		return nil, err
	}
	if s.running == nil {
		return c.launch(s), nil
	}
	return s.running, nil
}

// slot finds the slot of a name or alias. c.mu is held.
func (c *Catalog) slot(server string) (*slot, error) {
	if c.closed {
		return nil, ErrClosed
	}
	known := c.current.Load().Server(server)
	if known == nil {
		return nil, ErrUnknownServer
	}
	s := c.slots[known.Name]
	if s == nil {
		return nil, ErrDisabled
	}
	return s, nil
}

// launch starts a goroutine that flies until nobody waits. c.mu is held; Close waits for the goroutine.
func (c *Catalog) launch(s *slot) *flight {
	first := &flight{done: make(chan struct{})}
	s.running = first
	so := s.options
	c.wg.Go(func() {
		for f := first; f != nil; {
			f.err = c.refresh(s, so)
			c.mu.Lock()
			close(f.done)
			f, s.next = s.next, nil
			s.running, so = f, s.options
			c.mu.Unlock()
		}
	})
	return first
}

// refresh asks one server and swaps in what it says, or why it could not be asked.
func (c *Catalog) refresh(of *slot, so ServerOptions) error {
	name := so.Name
	if c.life.Err() != nil {
		return fmt.Errorf("refresh %s: %w", name, ErrClosed)
	}
	ctx, cancel := context.WithTimeout(c.life, c.o.Timeout)
	defer cancel()
	read, err := c.ask(ctx, name)
	if err != nil {
		if c.life.Err() != nil {
			return fmt.Errorf("refresh %s: %w", name, ErrClosed)
		}
		err = fmt.Errorf("refresh %s: %w", name, err)
		c.swap(of, func(old *Server) *Server { return old.failed(err) })
		c.o.Log.Warn("catalog refresh failed", "server", name, "error", err)
		return err
	}
	var renewed *Server
	c.swap(of, func(old *Server) *Server { renewed = old.renewed(read); return renewed })
	if len(read.Skipped) > 0 {
		c.o.Log.Warn("catalog entries left out", "server", name, "what", read.Skipped)
	}
	if c.o.CacheDir != "" && so.ID != "" && renewed != nil {
		if err := saveCache(c.o.CacheDir, renewed); err != nil {
			c.o.Log.Warn("catalog not cached", "server", name, "error", err)
		}
	}
	return nil
}

// failed returns a copy of s that says why it could not be refreshed.
func (s *Server) failed(err error) *Server {
	next := *s
	next.Err = err
	if !next.FreshUntil.IsZero() {
		next.FreshUntil = time.Now().Add(freshAgain)
	}
	return &next
}

// renewed returns read as the successor of s. If the server says what it said before, the old entries stay: with them
// the signatures already made and the only copy of their bytes.
func (s *Server) renewed(read *Server) *Server {
	read.Name, read.Alias, read.ID, read.Description = s.Name, s.Alias, s.ID, s.Description
	if slices.EqualFunc(s.Entries, read.Entries, func(a, b *Entry) bool {
		return a.Kind == b.Kind && a.Template == b.Template && bytes.Equal(a.Raw, b.Raw)
	}) {
		read.Entries, read.index, read.sum = s.Entries, s.index, s.sum
		return read
	}
	return read.settle()
}

// ask reads everything one server offers. Nothing half comes back: one failing page fails the whole.
func (c *Catalog) ask(ctx context.Context, name string) (*Server, error) {
	if c.o.Source == nil {
		return nil, errors.New("no source to ask")
	}
	hello, err := c.o.Source.Hello(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("ask hello: %w", err)
	}
	s := &Server{Known: true, Name: name}
	r := reading{c: c, server: name, all: newCollector(name), left: c.o.MaxBytes}
	if err := r.spend(hello); err != nil {
		return nil, fmt.Errorf("ask hello: %w", err)
	}
	if err := s.readHello(hello); err != nil {
		return nil, err
	}
	for _, l := range wanted(s.Capabilities) {
		if err := r.read(ctx, l); err != nil {
			return nil, fmt.Errorf("ask %s: %w", l.method, err)
		}
	}
	s.Entries, s.Skipped, s.Refreshed = r.all.entries, r.all.reports(), time.Now()
	if r.fresh > 0 {
		s.FreshUntil = s.Refreshed.Add(r.fresh)
	}
	return s, nil
}

// reading is the state of reading one server's lists.
type reading struct {
	c      *Catalog
	server string
	all    *collector
	left   int64 // bytes the server may still send
	fresh  time.Duration
}

func (r *reading) spend(raw json.RawMessage) error {
	if r.left -= int64(len(raw)); r.left < 0 {
		return fmt.Errorf("more than %d bytes of lists", r.c.o.MaxBytes)
	}
	return nil
}

// read follows all pages of one list. A cursor that comes again ends the list once its page brought nothing new:
// a server with one constant cursor is read whole, one that turns in circles is not followed twice round.
func (r *reading) read(ctx context.Context, l list) error {
	var params json.RawMessage
	cursors := map[string]bool{}
	for n := 0; n < r.c.o.MaxPages; n++ {
		raw, err := r.c.o.Source.Fetch(ctx, r.server, l.method, params)
		if err != nil {
			if n == 0 && missing(err) {
				return nil
			}
			return err
		}
		if err := r.spend(raw); err != nil {
			return err
		}
		p, err := readPage(l, raw)
		if err != nil {
			return err
		}
		r.fresh = sooner(r.fresh, p.fresh)
		before, more := r.all.skipped, r.all.more
		fresh := r.all.add(l, p.items)
		if len(r.all.entries) > r.c.o.MaxEntries {
			return fmt.Errorf("more than %d entries", r.c.o.MaxEntries)
		}
		if p.next == "" {
			return nil
		}
		if cursors[p.next] && fresh == 0 {
			r.all.skipped, r.all.more = before, more // the same page again is one fault, not many
			r.all.report(l.method + ": the server repeats its cursors without end, the list ends where nothing new came")
			return nil
		}
		cursors[p.next] = true
		params = json.RawMessage(`{"cursor":` + string(rawjson.Quote(p.next)) + `}`)
	}
	return fmt.Errorf("more than %d pages", r.c.o.MaxPages)
}

// missing reports an error that means: the server has no such method.
func missing(err error) bool {
	var coded interface{ RPCCode() int64 }
	return errors.As(err, &coded) && coded.RPCCode() == -32601
}
