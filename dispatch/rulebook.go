package dispatch

import (
	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// Rulebook says who sees what and what happens to calls. It may be replaced while a Dispatcher runs.
type Rulebook struct {
	// Rules say which tools are seen; the zero value lets all through.
	Rules view.Rules
	// Views are the tool views by name. An agent with a View sees nothing else.
	Views map[string]view.Definition
	// Flow says which server's kept data may go into which call; the zero value lets all pass.
	Flow Flow
	// Confirm says which tools run only when a person agrees; the zero value lets all run.
	Confirm ConfirmRules
	// Hooks are run for the calls they fit, in this order, on every way to a call.
	Hooks []HookRule
	// Made are the tools of our own of each view, by its name; those of "" are for agents without a view.
	Made map[string][]Made
	// Keywords are hidden words by which search finds a server's tools.
	Keywords map[string][]string
	// ToolKeywords are hidden words by which search finds one tool; nil means none.
	ToolKeywords func(server, tool string) []string
}

// book is a compiled Rulebook with all that is derived from it.
type book struct {
	lenses       *lenses
	flow         flowPolicy
	confirmation confirmation // which calls need a person's word
	hooks        []hookRule
	made         madeTools
	keywords     map[string][]string
	toolKeywords func(server, tool string) []string
}

// compileBook compiles a rulebook; the definitions tell of the connections of start.
func compileBook(o Options, r Rulebook, start *catalog.Snapshot) (*book, error) {
	b := &book{keywords: r.Keywords, toolKeywords: r.ToolKeywords}
	if b.toolKeywords == nil {
		b.toolKeywords = func(string, string) []string { return nil }
	}
	var err error
	if b.flow, err = compileFlow(r.Flow); err != nil {
		return nil, err
	}
	if b.confirmation, err = compileConfirm(r.Confirm); err != nil {
		return nil, err
	}
	if b.hooks, err = compileHooks(r.Hooks); err != nil {
		return nil, err
	}
	if b.made, err = readMade(r.Made); err != nil {
		return nil, err
	}
	o.Rulebook = r
	b.lenses, err = newLenses(o, b.made, start)
	return b, err
}

// Apply replaces the rules, whole, or leaves them as they are if the new ones hold a fault. What runs goes on; each
// station it still comes to follows the new rules. The definition that an agent has been given stays as it is.
func (d *Dispatcher) Apply(r Rulebook) error {
	old := d.book.Load()
	next, err := compileBook(d.o, r, old.lenses.start)
	if err != nil {
		return err
	}
	next.lenses.inherit(old.lenses)
	d.book.Store(next)
	return old.lenses.close()
}
