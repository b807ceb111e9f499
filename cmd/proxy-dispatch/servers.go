package main

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

func (c *console) serversCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List the configured servers, how they are reached and how they are",
		Long: `servers connects to the servers (lazy and disabled ones are left alone) and lists them in the order of the
configuration: how each is reached, without secrets, and its state.`,
		Example: `  proxy-dispatch servers
  proxy-dispatch servers --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.servers(cmd.Context()) },
	}
	c.wantsJSON(cmd)
	return cmd
}

// configured is a server in `servers --json`.
type configured struct {
	Connection  string `json:"connection"`
	Alias       string `json:"alias"`
	ID          string `json:"id"`
	Kind        string `json:"kind"`    // command, url or builtin
	Reached     string `json:"reached"` // how, without secrets
	Description string `json:"description,omitempty"`
	State       string `json:"state"`
	Error       string `json:"error,omitempty"`
	Lazy        bool   `json:"lazy,omitempty"`
	ReadOnly    bool   `json:"readOnly,omitempty"`
}

func (c *console) servers(ctx context.Context) error {
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return err
	}
	defer p.Close()
	names := p.enabled(func(s *catalog.Server) bool { return !p.lazy(s.Name) })
	if err := c.learn(ctx, p, names...); err != nil {
		return err
	}
	list := make([]configured, len(p.cfg.Servers))
	for i := range p.cfg.Servers {
		list[i] = p.configured(i)
	}
	if c.json {
		return c.showJSON(list)
	}
	if len(list) == 0 {
		c.say("No servers in %s.", p.cfg.Path)
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, s := range list {
		state := s.State
		if s.Error != "" {
			state += ": " + s.Error
		}
		if s.ReadOnly {
			state += " [read-only]"
		}
		if _, err := fmt.Fprintf(w, "%s\t(%s: %s)\t%s\n", s.Connection, s.Kind, s.Reached, state); err != nil {
			return err
		}
	}
	return w.Flush()
}

func (p *program) configured(i int) configured {
	s := &p.cfg.Servers[i]
	out := configured{
		Connection: s.Name, Alias: "c" + strconv.Itoa(i+1), ID: s.ID, Kind: "command", Reached: s.Describe, Description: s.Description,
		Lazy: s.Lazy, ReadOnly: s.ReadOnly,
	}
	switch {
	case s.URL != "":
		out.Kind = "url"
	case s.Builtin != "":
		out.Kind, out.Reached = "builtin", s.Builtin
	}
	state, why := p.fleet.State(s.Name)
	out.State, out.Error = string(state), p.redactor.Redact(why)
	return out
}
