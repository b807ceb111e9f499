package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

func (c *console) toolsCommand() *cobra.Command {
	var server, view string
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools of all servers",
		Long: `tools asks the servers for their tools and lists those that agents may see. What a lazy server offers
is taken from the cache, if it is there. With --json it prints the whole catalog, one element a tool.`,
		Example: `  proxy-dispatch tools
  proxy-dispatch tools --server github
  proxy-dispatch tools --json > catalog.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.tools(cmd.Context(), server, view) },
	}
	cmd.Flags().StringVar(&server, "server", "", "only this server")
	cmd.Flags().StringVar(&view, "view", "", "only what a tool view shows")
	c.wantsJSON(cmd)
	return cmd
}

func (c *console) tools(ctx context.Context, server, view string) error {
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return err
	}
	defer p.Close()
	names, err := p.listed(server)
	if err != nil {
		return err
	}
	if err := c.learn(ctx, p, names...); err != nil {
		return err
	}
	v, err := p.seen(view)
	if err != nil {
		return err
	}
	if c.json {
		err = c.showJSON(catalogOf(v, server))
	} else {
		err = c.showTools(v, server)
	}
	if err != nil {
		return err
	}
	return p.unreached(names)
}

// listed returns the servers to ask before everything is listed: those that are not lazy, and lazy ones
// that nobody has heard of.
func (p *program) listed(server string) ([]string, error) {
	only := server
	if server != "" {
		s := p.catalog.Snapshot().Server(server)
		if s == nil {
			return nil, usage("there is no server %q", server)
		}
		only = s.Name
	}
	return p.enabled(func(s *catalog.Server) bool {
		return (only == "" || s.Name == only) && (!s.Known || !p.lazy(s.Name))
	}), nil
}

// lazy reports whether the server starts at its first call only.
func (p *program) lazy(name string) bool {
	return slices.ContainsFunc(p.cfg.Servers, func(s config.Server) bool { return s.Name == name && s.Lazy })
}

// view is what agents may see now.
func (p *program) view() (*view.View, error) {
	policy, err := view.Compile(p.rulesOf(p.cfg))
	if err != nil {
		return nil, err
	}
	return policy.Over(p.catalog.Snapshot()), nil
}

// within is who asks on the command line, by a tool view ("" none).
func (p *program) within(view string) (dispatch.Agent, error) {
	a := me
	a.View = view
	if view != "" && p.cfg.View(view) == nil {
		return a, noView(p.cfg, view)
	}
	return a, nil
}

// seen is what a tool view ("" none) shows now.
func (p *program) seen(name string) (*view.View, error) {
	a, err := p.within(name)
	if err != nil {
		return nil, err
	}
	return p.dispatcher.Seen(a), nil
}

// entryJSON is an element of the catalog as programs read it.
type entryJSON struct {
	Server       string          `json:"server"`
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
}

func entryOf(e *catalog.Entry) entryJSON {
	schema := e.InputSchema
	if schema == nil {
		schema = json.RawMessage(`{}`)
	}
	return entryJSON{e.Server, e.Name, e.Title, e.Description, schema, e.OutputSchema, e.Annotations}
}

// catalogOf is the catalog of one server or of all.
func catalogOf(v *view.View, server string) []entryJSON {
	list := []entryJSON{}
	for _, e := range v.Entries(nameOf(v, server), catalog.Tool) {
		entry := entryOf(e)
		entry.OutputSchema = nil
		list = append(list, entry)
	}
	return list
}

// nameOf turns an alias into the name it stands for.
func nameOf(v *view.View, server string) string {
	if s := v.Snapshot.Server(server); server != "" && s != nil {
		return s.Name
	}
	return server
}

func (c *console) showTools(v *view.View, server string) error {
	only := nameOf(v, server)
	for _, s := range v.Snapshot.Servers {
		if only != "" && s.Name != only {
			continue
		}
		tools := v.Entries(s.Name, catalog.Tool)
		if len(tools) == 0 && !s.Known {
			continue
		}
		if err := c.show("%s (%s):", c.paint(c.out, bold, s.Name), plural(len(tools), "tool")); err != nil {
			return err
		}
		for _, e := range tools {
			line := "  - " + catalog.Clean(e.Ref.String())
			if d := firstLine(e.Description, 100); d != "" {
				line += c.paint(c.out, grey, "  "+d)
			}
			if err := c.show("%s", line); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstLine is the first line of a text, cut at a length in runes.
func firstLine(s string, most int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > most {
		s = strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return s
}
