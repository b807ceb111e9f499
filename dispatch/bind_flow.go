package dispatch

import (
	"errors"
	"fmt"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// Flow says which server's kept data a call may be given by reference: $from, argumentsFile, another call of the
// batch, the elements of forEach. The zero value lets all pass.
type Flow struct {
	// Allow, if there is any, lists what may pass; Deny wins over it.
	Allow, Deny []FlowRule
}

// FlowRule is one way of data. Both are globs, matched against connection and connection/name (of a tool, URI or
// prompt); From also against file://PATH of files under the allowed roots.
type FlowRule struct{ From, To string }

func (r FlowRule) String() string { return fmt.Sprintf("{from: %s, to: %s}", r.From, r.To) }

// flowPolicy is a compiled Flow.
type flowPolicy struct{ allow, deny []flowRule }

type flowRule struct {
	FlowRule
	from, to *glob.Pattern
}

func compileFlow(f Flow) (p flowPolicy, err error) {
	if p.allow, err = compileFlowRules("allow", f.Allow); err != nil {
		return p, err
	}
	p.deny, err = compileFlowRules("deny", f.Deny)
	return p, err
}

func compileFlowRules(key string, rules []FlowRule) (out []flowRule, err error) {
	for _, r := range rules {
		c := flowRule{FlowRule: r}
		var toErr error
		c.from, err = glob.Compile(r.From)
		c.to, toErr = glob.Compile(r.To)
		if err = errors.Join(err, toErr); err != nil {
			return nil, fmt.Errorf("flow: %s: %s: %w", key, r, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func (r flowRule) covers(s spill.Source, to catalog.Ref) bool {
	return (r.from.Match(s.String()) || s.File == "" && r.from.Match(s.Server)) && (r.to.Match(to.String()) || r.to.Match(to.Server))
}

// flowError is data that may not go into a call.
type flowError struct {
	from spill.Source
	to   catalog.Ref
	rule string
}

// Error names the data, the call and the rule.
func (e *flowError) Error() string {
	what := "data of " + e.from.String()
	if e.from.Given {
		what = "data that came from " + e.from.String() + " on its way"
	}
	return fmt.Sprintf("%s may not go to %s: %s", clip(what, 300), clip(e.to.String(), 200), e.rule)
}

// check holds the sources of data against the policy. What a tool was given counts for deny only: it may have been
// handed on, but a tool that is allowed to have data answers for what it makes of it.
func (p flowPolicy) check(from spill.Sources, to catalog.Ref) error {
	for _, s := range from {
		for _, r := range p.deny {
			if r.covers(s, to) {
				return refusedFlow(&flowError{s, to, "flow.deny has " + r.String()})
			}
		}
	}
	for _, s := range from {
		if len(p.allow) > 0 && !s.Given && !p.allows(s, to) {
			return refusedFlow(&flowError{s, to, "no rule of flow.allow covers it"})
		}
	}
	return nil
}

func (p flowPolicy) allows(s spill.Source, to catalog.Ref) bool {
	for _, r := range p.allow {
		if r.covers(s, to) {
			return true
		}
	}
	return false
}

func refusedFlow(e *flowError) error {
	return &Error{Code: Denied, Message: e.Error(), Err: e, Fate: NotSent,
		Do: "The data is still kept and may be read. Ask the person who runs proxy-dispatch to change the rule, or send it elsewhere"}
}

// intake takes kept data into one call: every source is held against the policy before a byte is read.
type intake struct {
	d     *Dispatcher
	agent Agent
	to    catalog.Ref   // zero: not for a call yet
	from  spill.Sources // of all that was taken in
}

// admit notes where data comes from, unless it may not go where the call does.
func (in *intake) admit(from spill.Sources) error {
	in.from = in.from.With(from...)
	if in.to == (catalog.Ref{}) {
		return nil
	}
	return in.d.book.Load().flow.check(from, in.to)
}
