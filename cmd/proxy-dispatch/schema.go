package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/catalog/signature"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

func (c *console) schemaCommand() *cobra.Command {
	var server, view string
	cmd := &cobra.Command{
		Use:   "schema [TOOL]",
		Short: "Show the arguments of a tool, or of all tools",
		Long: `schema shows what a tool takes and gives, as a TypeScript type with the descriptions and limits.
Without TOOL it shows every tool. --json prints the schemas as the server sent them: one object for one
tool, a list otherwise.`,
		Example: `  proxy-dispatch schema github/create_issue
  proxy-dispatch schema --server github
  proxy-dispatch schema --json > schemas.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.schema(cmd.Context(), strings.Join(args, ""), server, view)
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "only this server")
	cmd.Flags().StringVar(&view, "view", "", "only what a tool view shows")
	c.wantsJSON(cmd)
	return cmd
}

func (c *console) schema(ctx context.Context, tool, server, view string) error {
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return err
	}
	defer p.Close()
	if tool != "" {
		return c.schemaOf(ctx, p, tool, server, view)
	}
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
	list := []entryJSON{}
	for i, e := range v.Entries(nameOf(v, server), catalog.Tool) {
		list = append(list, entryOf(e))
		if c.json {
			continue
		}
		if i > 0 {
			if err := c.show(""); err != nil {
				return err
			}
		}
		if err := c.showSchema(e, view); err != nil {
			return err
		}
	}
	if c.json {
		if err := c.showJSON(list); err != nil {
			return err
		}
	}
	return p.unreached(names)
}

// schemaOf shows one tool.
func (c *console) schemaOf(ctx context.Context, p *program, tool, server, view string) error {
	agent, err := p.within(view)
	if err != nil {
		return err
	}
	var found *dispatch.DescribeAnswer
	err = c.withTool(ctx, p, tool, server, func() (err error) {
		found, err = p.dispatcher.Describe(ctx, agent, dispatch.DescribeRequest{Names: []string{tool}, Connection: server})
		return err
	})
	if err != nil {
		return err
	}
	item := found.Items[0]
	e := p.dispatcher.Seen(agent).Entry(catalog.Ref{Server: item.Connection, Kind: item.Type, Name: item.Name})
	if e == nil {
		return errors.New("the tool has just gone")
	}
	if c.json {
		return c.showJSON(entryOf(e))
	}
	return c.showSchema(e, view)
}

// withTool runs use after learning what it takes to know the tool. If the tool is unknown but what is
// known came from the cache, the servers are asked and use runs once more.
func (c *console) withTool(ctx context.Context, p *program, tool, server string, use func() error) error {
	names, err := p.unheard(tool, server)
	if err != nil {
		return err
	}
	if err := c.learn(ctx, p, names...); err != nil {
		return err
	}
	err = use()
	if e, ok := errors.AsType[*dispatch.Error](err); !ok || e.Code != dispatch.UnknownTool {
		return err
	}
	stale := p.enabled(func(s *catalog.Server) bool { return s.Cached })
	if len(stale) == 0 {
		return err
	}
	if err := c.learn(ctx, p, stale...); err != nil {
		return err
	}
	return use()
}

// showSchema shows one tool to a person, as the view of that name has it.
func (c *console) showSchema(e *catalog.Entry, view string) error {
	var b strings.Builder
	b.WriteString(c.paint(c.out, bold, catalog.Clean(e.Ref.String())) + "\n")
	if e.Description != "" {
		b.WriteString("  " + strings.ReplaceAll(strings.TrimSpace(e.Description), "\n", "\n  ") + "\n")
	}
	if t := e.Type(); t != "" {
		b.WriteString("\nArguments:\n" + strings.TrimRight(t, "\n") + "\n")
	} else {
		b.WriteString("\nNo arguments.\n")
	}
	if t := signature.Line(e.OutputSchema); t != "" {
		b.WriteString("\nReturns: " + t + "\n")
	}
	if s, err := arguments.Compile(e.InputSchema); err == nil {
		if view != "" {
			view = "--view " + shellQuote(view) + " "
		}
		b.WriteString("\nExample: proxy-dispatch call " + view + shellQuote(e.Ref.String()) + " " + shellQuote(string(s.Example())) + "\n")
	}
	return c.show("%s", strings.TrimRight(b.String(), "\n"))
}

// shellQuote writes a word so that a POSIX shell reads it as it is.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@,+=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
