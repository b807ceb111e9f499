package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// viewVerdict is what validate found out about one view, or (view "") about the tools of our own that belong to none.
type viewVerdict struct {
	View       string   `json:"view"`
	Tools      int      `json:"tools"`
	Composites int      `json:"compositeTools"`
	Custom     int      `json:"customTools"`
	Errors     []string `json:"errors,omitempty"`
	// Unknown are servers that could not be asked: their part was not checked.
	Unknown []string `json:"unknown,omitempty"`
}

// checkShapes holds views and composite tools against what the servers offer now. What a server that can't be reached
// offers is not known, and no fault of a view.
func (p *program) checkShapes() []viewVerdict {
	var out []viewVerdict
	for i := range p.cfg.Views {
		out = append(out, p.checkView(&p.cfg.Views[i]))
	}
	if rest := p.countOwn(viewVerdict{}); rest.Composites+rest.Custom > 0 {
		rest.Errors = p.checkComposites("")
		out = append(out, rest)
	}
	return out
}

func (p *program) countOwn(v viewVerdict) viewVerdict {
	for _, c := range p.cfg.Composites {
		if c.View == v.View {
			v.Composites++
		}
	}
	for _, c := range p.cfg.Custom {
		if c.View == v.View {
			v.Custom++
		}
	}
	return v
}

func (p *program) checkView(v *config.View) viewVerdict {
	out := p.countOwn(viewVerdict{View: v.Name})
	seen := p.dispatcher.Seen(dispatch.Agent{View: v.Name})
	names := map[string]catalog.Ref{}
	for _, e := range seen.Entries("", catalog.Tool) {
		if e.Server != view.Own {
			out.Tools++
		}
		first, twice := names[e.Name]
		if twice && (v.Exposure == "" || v.Exposure == view.Direct) {
			out.Errors = append(out.Errors, p.at(v.Line, fmt.Sprintf("shows two tools as '%s': %s and %s", e.Name, first, e.Ref)))
		}
		names[e.Name] = e.Ref
	}
	snapshot := p.catalog.Snapshot()
	for _, srv := range seen.Snapshot.Servers {
		if !srv.Known {
			out.Unknown = append(out.Unknown, srv.Name)
		}
	}
	for _, st := range v.Tools {
		srv := snapshot.Server(st.Server)
		if srv == nil || !srv.Known {
			continue
		}
		for _, t := range st.Tools {
			if srv.Entry(catalog.Tool, t.Match) == nil && !strings.ContainsAny(t.Match, "*?[{") {
				out.Errors = append(out.Errors, p.at(v.ToolLine(st.Server, t.Match), fmt.Sprintf("references unknown tool '%s.%s'", st.Server, t.Match)))
			}
		}
	}
	for _, err := range seen.Faults {
		out.Errors = append(out.Errors, p.at(v.Line, err.Error()))
	}
	for _, ref := range seen.Conflicts {
		out.Errors = append(out.Errors, p.at(v.Line, fmt.Sprintf("gives two tools of %s the name '%s'", ref.Server, ref.Name)))
	}
	out.Errors = append(out.Errors, p.checkComposites(v.Name)...)
	return out
}

// at is a fault with its place in the file.
func (p *program) at(line int, what string) string {
	return fmt.Sprintf("%s (%s:%d)", what, filepath.Base(p.cfg.Path), line)
}

func (p *program) checkComposites(of string) (errs []string) {
	everything, err := p.view()
	if err != nil {
		return []string{err.Error()}
	}
	schema := func(tool string) (json.RawMessage, string) {
		e, err := everything.Resolve(catalog.Tool, tool, "")
		if err == nil {
			return e.InputSchema, ""
		}
		if srv := everything.Snapshot.Server(everything.Connection(tool)); srv != nil && !srv.Known {
			return nil, "" // nobody knows
		}
		return nil, fmt.Sprintf("references unknown tool '%s'", tool)
	}
	for _, c := range p.cfg.Composites {
		if c.View != of {
			continue
		}
		for _, problem := range c.Tool.Check(schema) {
			errs = append(errs, p.at(problem.Line, c.Name+": "+problem.Msg))
		}
	}
	return errs
}

// showShapes prints a line for each view.
func (c *console) showShapes(p *program, list []viewVerdict) error {
	for _, v := range list {
		name := p.cfg.ViewsKey + "." + v.View
		if v.View == "" {
			name = "tools of our own"
		}
		for _, e := range v.Errors {
			if err := c.show("%s %s: ERROR - %s", c.paint(c.out, red, "✗"), name, e); err != nil {
				return err
			}
		}
		if len(v.Errors) > 0 {
			continue
		}
		if err := c.show("%s %s: valid (%s)", c.paint(c.out, green, "✓"), name, v.counts()); err != nil {
			return err
		}
	}
	return nil
}

func (v viewVerdict) counts() string {
	var parts []string
	if v.Tools > 0 || v.Composites+v.Custom == 0 {
		parts = append(parts, plural(v.Tools, "tool")+" exposed")
	}
	if v.Composites > 0 {
		parts = append(parts, plural(v.Composites, "composite tool"))
	}
	if v.Custom > 0 {
		parts = append(parts, plural(v.Custom, "custom tool"))
	}
	if len(v.Unknown) > 0 {
		parts = append(parts, "not checked: "+strings.Join(v.Unknown, ", "))
	}
	return strings.Join(parts, ", ")
}
