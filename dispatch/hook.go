package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

// Hook looks at a call on its way to the server, or at its result on the way back, and may change or refuse it.
// Implementations are safe for concurrent use.
type Hook interface {
	// Run is given one call. An error fails the call, like a refusal but with words for the log only: what can't be
	// looked at does not pass.
	Run(ctx context.Context, c HookCall) (Verdict, error)
}

// HookFunc is a Hook that is one function.
type HookFunc func(ctx context.Context, c HookCall) (Verdict, error)

// Run calls the function.
func (f HookFunc) Run(ctx context.Context, c HookCall) (Verdict, error) { return f(ctx, c) }

// HookCall is what a hook is told of a call. Its texts must not be changed in place.
type HookCall struct {
	Agent Agent
	// Ref is what is called, by the server's own name; Shown is its name in the agent's view.
	Ref   catalog.Ref
	Shown string
	// ReadOnly and Idempotent are what the tool declares.
	ReadOnly, Idempotent bool
	// Arguments is the JSON object the server gets, or got.
	Arguments json.RawMessage
	// Result is the server's whole result; nil before the call.
	Result json.RawMessage
}

// Verdict is what a hook decides. The zero Verdict lets the call pass unchanged.
type Verdict struct {
	// Arguments, before the call, replaces the arguments; nil keeps them. They are held against the server's schema.
	Arguments json.RawMessage
	// Result, after the call, replaces the result; before it, it is the result, and the server is not called. Nil: none.
	Result json.RawMessage
	// Abort is why the call is refused, or its result withheld; "" lets it pass. Code is the error's; "" means denied.
	Abort     string
	Code      Code
	Retryable bool // waiting may help
	// Meta is an object laid over the result's `_meta`; nil means none.
	Meta json.RawMessage
	// Done, before the call, is called once with what the server answered, before any hook sees that. Nil: not wanted.
	Done func(result json.RawMessage, err error)
}

// HookRule says which calls a hook is run for. The patterns are globs; none means all.
type HookRule struct {
	// Name says in errors and logs which hook it is.
	Name string
	// Views are the views it is for; "" stands for calls that come in by none.
	Views []string
	// Servers match connections, Tools match names (or URIs) and connection/name, always the server's own.
	Servers, Tools []string
	// After runs it on results, else on calls.
	After bool
	Hook  Hook
}

// hookRule is a compiled HookRule.
type hookRule struct {
	HookRule
	views, servers, tools []*glob.Pattern
}

func compileHooks(rules []HookRule) ([]hookRule, error) {
	out := make([]hookRule, len(rules))
	for i, r := range rules {
		out[i].HookRule = r
		for _, p := range []struct {
			from []string
			to   *[]*glob.Pattern
		}{{r.Views, &out[i].views}, {r.Servers, &out[i].servers}, {r.Tools, &out[i].tools}} {
			for _, s := range p.from {
				g, err := glob.Compile(s)
				if err != nil {
					return nil, fmt.Errorf("hook %s: pattern %q: %w", r.Name, s, err)
				}
				*p.to = append(*p.to, g)
			}
		}
	}
	return out, nil
}

// hooksFor returns the hooks of a call in their order. A ref without a name is any of the server's: every hook counts
// that one of them may have.
func (d *Dispatcher) hooksFor(a Agent, ref catalog.Ref, after bool) []hookRule {
	var out []hookRule
	for _, h := range d.book.Load().hooks {
		if h.After == after && suits(h.views, a.View) && suits(h.servers, ref.Server) && (ref.Name == "" || suits(h.tools, ref.Name, ref.String())) {
			out = append(out, h)
		}
	}
	return out
}

// suits reports whether one of the names matches one of the patterns, if there are any.
func suits(patterns []*glob.Pattern, names ...string) bool {
	for _, p := range patterns {
		for _, n := range names {
			if p.Match(n) {
				return true
			}
		}
	}
	return len(patterns) == 0
}
