package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

func (c *console) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Connect to the servers and tell how things stand",
		Example: `  proxy-dispatch status
  proxy-dispatch status --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.status(cmd.Context()) },
	}
	c.wantsJSON(cmd)
	return cmd
}

func (c *console) status(ctx context.Context) error {
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return err
	}
	defer p.Close()
	names, err := p.listed("")
	if err != nil {
		return err
	}
	if err := c.learn(ctx, p, names...); err != nil {
		return err
	}
	answer, err := p.dispatcher.Status(ctx, me, dispatch.StatusRequest{})
	if err != nil {
		return err
	}
	if c.json {
		err = c.showJSON(answer)
	} else {
		err = c.show("%s", strings.TrimRight(answer.Text(), "\n"))
	}
	return err
}

func (c *console) validateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration and connect to every server",
		Example: `  proxy-dispatch validate
  proxy-dispatch validate --config servers.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.validate(cmd.Context()) },
	}
	c.wantsJSON(cmd)
	return cmd
}

// verdict is what validate found out about one server.
type verdict struct {
	Connection string `json:"connection"`
	State      string `json:"state"`
	Tools      int    `json:"tools"`
	Resources  int    `json:"resources"`
	Prompts    int    `json:"prompts"`
	Error      string `json:"error,omitempty"`
	// Look is what a person should look at: suspicious words, tools that are not what was trusted.
	Look []string `json:"look,omitempty"`
}

func (c *console) validate(ctx context.Context) error {
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return err
	}
	defer p.Close()
	names := p.enabled(func(*catalog.Server) bool { return true })
	if err := c.learn(ctx, p, names...); err != nil {
		return err
	}
	v, err := p.view()
	if err != nil {
		return err
	}
	list := []verdict{}
	looks := p.looks()
	for _, s := range v.Snapshot.Servers {
		state, _ := p.fleet.State(s.Name)
		one := verdict{Connection: s.Name, State: string(state), Tools: len(v.Entries(s.Name, catalog.Tool)),
			Resources: len(v.Entries(s.Name, catalog.Resource)), Prompts: len(v.Entries(s.Name, catalog.Prompt)), Error: p.reason(s),
			Look: looks[s.Name]}
		list = append(list, one)
	}
	shapes := p.checkShapes()
	tried := p.tryBucket(ctx)
	for _, line := range p.cfg.Ignored {
		c.say("ignored: %s", line)
	}
	if c.json {
		err = c.showJSON(struct {
			Config  string        `json:"config"`
			Ignored []string      `json:"ignored,omitempty"`
			Servers []verdict     `json:"servers"`
			Views   []viewVerdict `json:"views,omitempty"`
			Bucket  *outcome      `json:"bucket,omitempty"`
		}{p.cfg.Path, p.cfg.Ignored, list, shapes, p.bucketOutcome(tried)})
	} else if err = errors.Join(c.showVerdicts(list), c.showShapes(p, shapes)); err == nil && p.bucket != nil {
		err = c.showBucket(p.bucketOutcome(tried))
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(shapes, func(v viewVerdict) bool { return len(v.Errors) > 0 }) {
		return &exitError{code: exitUsage}
	}
	if tried != nil || p.unreached(names) != nil {
		return &exitError{code: exitUnreachable} // why was said with the verdicts
	}
	return nil
}

// outcome is what validate found out about the bucket of results.
type outcome struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"`
}

func (p *program) bucketOutcome(tried error) *outcome {
	if p.bucket == nil {
		return nil
	}
	o := &outcome{Name: p.cfg.Spill.Bucket.Name}
	if tried != nil {
		o.Error = p.redactor.Redact(tried.Error())
	}
	return o
}

func (c *console) showBucket(o *outcome) error {
	if o.Error != "" {
		return c.show("%s bucket %s: %s", c.paint(c.out, red, "✗"), o.Name, o.Error)
	}
	return c.show("%s bucket %s: takes, gives and removes results", c.paint(c.out, green, "✓"), o.Name)
}

func (c *console) showVerdicts(list []verdict) error {
	for _, v := range list {
		var err error
		switch {
		case v.Error != "":
			err = c.show("%s %s: %s", c.paint(c.out, red, "✗"), v.Connection, v.Error)
		case v.State == "disabled":
			err = c.show("- %s: disabled", v.Connection)
		default:
			line := plural(v.Tools, "tool")
			if v.Resources > 0 {
				line += ", " + plural(v.Resources, "resource")
			}
			if v.Prompts > 0 {
				line += ", " + plural(v.Prompts, "prompt")
			}
			err = c.show("%s %s: connected (%s)", c.paint(c.out, green, "✓"), v.Connection, line)
		}
		for _, l := range v.Look {
			err = errors.Join(err, c.show("    %s %s", c.paint(c.out, red, "!"), l))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
