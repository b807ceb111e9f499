package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// me is the agent that a command line is.
var me = dispatch.Agent{Session: "command-line", Client: "proxy-dispatch"}

func (c *console) searchCommand() *cobra.Command {
	var q dispatch.SearchRequest
	var kind, view string
	var refresh bool
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find tools by what they do",
		Long: `search ranks the tools for a question in plain words, as an agent would see it. It starts only servers
whose tools it has never heard of; --refresh asks all again.`,
		Example: `  proxy-dispatch search send a message to a channel
  proxy-dispatch search --type resource readme
  proxy-dispatch search --json create issue`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			q.Query, q.Type = strings.Join(words, " "), catalog.Kind(kind)
			return c.search(cmd.Context(), q, refresh, view)
		},
	}
	f := cmd.Flags()
	f.StringVar(&kind, "type", "tool", "tool, resource or prompt")
	f.StringVar(&q.Connection, "server", "", "only this server")
	f.StringVar(&view, "view", "", "only what a tool view shows")
	f.IntVar(&q.Limit, "limit", 10, "how many hits")
	f.IntVar(&q.Offset, "offset", 0, "hits to leave out")
	f.BoolVar(&refresh, "refresh", false, "ask the servers again first")
	c.wantsJSON(cmd)
	return cmd
}

func (c *console) search(ctx context.Context, q dispatch.SearchRequest, refresh bool, view string) error {
	if err := checkKind(q.Type); err != nil {
		return err
	}
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return err
	}
	defer p.Close()
	agent, err := p.within(view)
	if err != nil {
		return err
	}
	names, err := p.unheard("", q.Connection)
	if refresh {
		names, err = p.listed(q.Connection)
	}
	if err != nil {
		return err
	}
	if err := c.learn(ctx, p, names...); err != nil {
		return err
	}
	answer, err := p.dispatcher.Search(ctx, agent, q)
	if err != nil {
		return err
	}
	if c.json {
		err = c.showJSON(answer)
	} else {
		err = c.show("%s", strings.TrimRight(answer.Text(), "\n"))
	}
	return err // the answer itself names the servers that could not be asked
}

func checkKind(k catalog.Kind) error {
	switch k {
	case "", catalog.Tool, catalog.Resource, catalog.Prompt:
		return nil
	}
	return usage("--type must be tool, resource or prompt, not %q", k)
}
