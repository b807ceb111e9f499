// Package script runs code that can do only what its Host offers.
//
// Code is JavaScript in an engine written in Go: no file, network, process, environment or timer is in its reach. Every
// run has a world of its own, made new and thrown away; the only way out is the Host, by texts.
package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Host is everything that code can reach. Its methods are called from several goroutines at once, but never after the
// run has ended; they heed ctx, which ends with the run. An error is thrown in the script with its text as message; if one
// in its chain has the method Properties, as *Thrown has, the members of the object that gives stand beside it.
type Host interface {
	// Call runs a tool with an object of arguments and gives its value.
	Call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error)
	// Read gives what query, an object, wants of a kept result.
	Read(ctx context.Context, handle string, query json.RawMessage) (json.RawMessage, error)
	// Search gives the tools that fit query, an object.
	Search(ctx context.Context, query json.RawMessage) (json.RawMessage, error)
	// Log takes one line that the script wrote, at most 4,000 characters. It must not block.
	Log(level, line string)
	// Progress takes the params of a progress notification. It must not block.
	Progress(params json.RawMessage)
	// Scope names whom a module is called for, such as a principal: what a module keeps in variables may be seen by its
	// later calls in the same scope and by no others. In scope "" every call begins anew.
	Scope() string
}

// Closed is a Host that offers nothing. Hosts that offer little embed it.
type Closed struct{}

var errClosed = errors.New("not offered here")

// Call refuses.
func (Closed) Call(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, fmt.Errorf("call a tool: %w", errClosed)
}

// Read refuses.
func (Closed) Read(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, fmt.Errorf("read a result: %w", errClosed)
}

// Search refuses.
func (Closed) Search(context.Context, json.RawMessage) (json.RawMessage, error) {
	return nil, fmt.Errorf("search: %w", errClosed)
}

// Log drops the line.
func (Closed) Log(string, string) {}

// Progress drops it.
func (Closed) Progress(json.RawMessage) {}

// Scope is "": every call begins anew.
func (Closed) Scope() string { return "" }

// Thrown is an error of a Host with more to say than its text.
type Thrown struct {
	Message string
	Data    json.RawMessage // an object; its members become properties of the error; nil means none
}

// Error returns the message.
func (e *Thrown) Error() string { return e.Message }

// Properties returns the data.
func (e *Thrown) Properties() json.RawMessage { return e.Data }

// Limits bound a run. The zero value has the defaults.
type Limits struct {
	// Timeout bounds a run with everything it waits for; 0 means 60 s.
	Timeout time.Duration
	// Memory is the most bytes a run holds in its world; 0 means 64 MiB, less than 1 MiB means 1 MiB.
	Memory int64
	// Calls is the most uses of the host in one run; 0 means 500.
	Calls int
	// Concurrent is how many of them are under way at once, the others wait; 0 means 8.
	Concurrent int
	// Runs is how many pieces of code a Runner runs at once, the others wait; 0 means 16. It does not count for modules.
	Runs int
}

func (l Limits) withDefaults() Limits {
	if l.Timeout <= 0 {
		l.Timeout = time.Minute
	}
	if l.Memory <= 0 {
		l.Memory = 64 << 20
	}
	l.Memory = max(l.Memory, 1<<20)
	if l.Calls <= 0 {
		l.Calls = 500
	}
	if l.Concurrent <= 0 {
		l.Concurrent = 8
	}
	if l.Runs <= 0 {
		l.Runs = 16
	}
	return l
}

// MaxValue is the most bytes of JSON that one use of the host may give a script: values take several times their text.
func (l Limits) MaxValue() int64 { return l.withDefaults().Memory / 8 }

// How a run fails beside an error that the script threw itself. A run that was cancelled fails with its context's cause.
var (
	ErrTimeout = errors.New("the script ran longer than it may")
	ErrMemory  = errors.New("the script holds more memory than it may")
	ErrIdle    = errors.New("the script waits for a promise that nothing will settle")
	ErrBusy    = errors.New("earlier scripts have not come to their end yet")
	ErrClosed  = errors.New("scripts have been closed")
)

// ErrNoExport is a name that a module does not export.
var ErrNoExport = errors.New("no such export")

// Error is what a script threw.
type Error struct {
	Name    string // such as TypeError; "" where something other than an error was thrown
	Message string
	Stack   string // lines `at FUNCTION (FILE:LINE:COLUMN)`
	Line    int    // of the script, 1-based; 0 if unknown
}

// Error returns name, message and line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Name != "" {
		b.WriteString(e.Name + ": ")
	}
	b.WriteString(e.Message)
	if e.Line > 0 {
		fmt.Fprintf(&b, " (line %d)", e.Line)
	}
	return b.String()
}

// Runner runs pieces of code. It is safe for concurrent use; Close ends it.
type Runner struct {
	shop *shop
	runs chan struct{}
}

// New returns a Runner.
func New(l Limits) *Runner {
	l = l.withDefaults()
	return &Runner{newShop(l, nil), make(chan struct{}, l.Runs)}
}

// Run runs code, the body of an async function, and gives what it returns as JSON; nil where it returns nothing.
// It finds tools, call, read, search and console. The error is an *Error where the script threw, one of the Err…
// values, or ctx's cause. When Run returns, nothing of the run is under way any more, except that code which could not
// be stopped at once is left to end by itself: such leftovers are few, and while there are any too many ErrBusy is given.
func (r *Runner) Run(ctx context.Context, code string, h Host) (json.RawMessage, error) {
	select {
	case r.runs <- struct{}{}:
		defer func() { <-r.runs }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return r.shop.do(ctx, h, "", func(m *machine) error { return m.run(code) })
}

// Close waits for the runs under way and frees what is kept ready.
func (r *Runner) Close() error { return r.shop.close() }
