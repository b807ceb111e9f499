package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/catalog/trust"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/control"
)

// bookOf opens the book of what is trusted of a configuration's servers; nil if there is no folder for it, which is an
// error only where tools are pinned.
func bookOf(cfg *config.Config, env config.Env) (*trust.Book, error) {
	var dirs []string
	if env != nil {
		dirs = config.UserDirs(runtime.GOOS, env)
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil || len(dirs) == 0 || cfg.Path == "" {
		if cfg.Pin == "" || cfg.Pin == config.PinOff {
			return nil, nil
		}
		return nil, usage("tools.pin needs a configuration file and the user's configuration folder")
	}
	sum := sha256.Sum256([]byte(path))
	return trust.Open(filepath.Join(dirs[0], "trust", hex.EncodeToString(sum[:6])+".json")), nil
}

// withheld says which tools nobody may use because they are not what was trusted; nil if that is not asked for.
func (p *program) withheld(cfg *config.Config) func(*catalog.Entry) bool {
	if cfg.Pin != config.PinBlock {
		return nil
	}
	return func(e *catalog.Entry) bool {
		ok, err := p.trusted.Trusts(e)
		if err != nil {
			p.log.Error("nothing is trusted", "why", err)
		}
		return !ok
	}
}

// keepTrust trusts servers as they are first seen, and says what has changed since, once.
func (p *program) keepTrust() (stop func()) {
	var mu sync.Mutex
	told := map[string]bool{}
	look := func(s *catalog.Snapshot) {
		if pin := p.inForce.Load().Pin; pin != config.PinWarn && pin != config.PinBlock {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, srv := range s.Servers {
			if !srv.Known || srv.Cached {
				continue
			}
			if err := p.lookAt(srv, told); err != nil {
				p.log.Error("what is trusted cannot be told", "server", srv.Name, "why", err)
			}
		}
	}
	return p.catalog.Watch(look)
}

func (p *program) lookAt(srv *catalog.Server, told map[string]bool) error {
	known, err := p.trusted.Known(srv.Name)
	if err != nil {
		return err
	}
	if !known {
		p.log.Info("trusted as first seen", "server", srv.Name)
		return p.trusted.Accept(srv)
	}
	changes, err := p.trusted.Compare(srv)
	for _, c := range changes {
		key := fmt.Sprintf("%s %s %s", srv.Name, c.Tool, c.Is)
		if !told[key] && c.Is != nil {
			told[key] = true
			p.log.Warn("a tool is not what was trusted", "server", srv.Name, "tool", catalog.Clean(c.Tool), "how", c.Kind(), "look", "proxy-dispatch trust diff "+srv.Name)
		}
	}
	return err
}

// looks are what a person should look at, by server.
func (p *program) looks() map[string][]string {
	out := map[string][]string{}
	s := p.catalog.Snapshot()
	for _, x := range trust.Suspect(s) {
		what := x.What
		if x.Ref.Name != "" {
			what = string(x.Ref.Kind) + " " + catalog.Clean(x.Ref.Name) + " " + what
		}
		out[x.Ref.Server] = append(out[x.Ref.Server], what)
	}
	if p.trusted == nil {
		return out
	}
	for _, srv := range s.Servers {
		changes, err := p.trusted.Compare(srv)
		if err != nil {
			p.log.Error("what is trusted cannot be told", "server", srv.Name, "why", err)
		}
		for _, c := range changes {
			if srv.Known {
				out[srv.Name] = append(out[srv.Name], fmt.Sprintf("tool %s is %s since it was trusted: proxy-dispatch trust diff %s", catalog.Clean(c.Tool), c.Kind(), srv.Name))
			}
		}
	}
	return out
}

func (c *console) trustCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "See what servers changed in their tools, and accept it",
		Long: `trust compares what each server says of its tools now with what it said when it was trusted: names, descriptions,
schemas and annotations. A server is trusted as it is first seen by a proxy with tools.pin: warn or block. Under
block a tool that changed or is new is neither found nor called until it is accepted here.`,
		Example: `  proxy-dispatch trust list
  proxy-dispatch trust diff github
  proxy-dispatch trust accept github create_issue`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the servers and what is not as it was trusted", Args: cobra.NoArgs,
		Example: "  proxy-dispatch trust list --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.trustList(cmd.Context()) }}
	c.wantsJSON(list)
	cmd.AddCommand(list,
		&cobra.Command{Use: "diff [SERVER]", Short: "Show what changed, line by line", Args: cobra.MaximumNArgs(1),
			Example: "  proxy-dispatch trust diff github",
			RunE:    func(cmd *cobra.Command, args []string) error { return c.trustDiff(cmd.Context(), args) }},
		&cobra.Command{Use: "accept SERVER [TOOL …]", Short: "Trust a server's tools as they are now", Args: cobra.MinimumNArgs(1),
			Example: "  proxy-dispatch trust accept github\n  proxy-dispatch trust accept github create_issue",
			RunE:    func(cmd *cobra.Command, args []string) error { return c.trustAccept(cmd.Context(), args[0], args[1:]) }},
		&cobra.Command{Use: "forget SERVER", Short: "Trust a server anew, as it is seen next", Args: cobra.ExactArgs(1),
			Example: "  proxy-dispatch trust forget github",
			RunE:    func(cmd *cobra.Command, args []string) error { return c.trustForget(cmd.Context(), args[0]) }})
	return cmd
}

// compared is a server in `trust list --json`.
type compared struct {
	Connection string            `json:"connection"`
	Trusted    bool              `json:"trusted"`         // it was looked at before
	Changes    map[string]string `json:"changes"`         // tool → new, changed or gone
	Error      string            `json:"error,omitempty"` // why it could not be asked
	differ     []trust.Change
}

// compare asks the named servers, or all, and compares what they say with what was trusted.
func (c *console) compare(ctx context.Context, only string) (*program, []compared, error) {
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return nil, nil, err
	}
	if p.trusted == nil {
		return p, nil, usage("there is no user's configuration folder to remember trust in")
	}
	if only != "" && p.catalog.Snapshot().Server(only) == nil {
		return p, nil, usage("there is no server %q", only)
	}
	names := p.enabled(func(s *catalog.Server) bool { return only == "" || s.Name == only || s.Alias == only })
	if err := c.learn(ctx, p, names...); err != nil {
		return p, nil, err
	}
	list := []compared{}
	for _, s := range p.catalog.Snapshot().Servers {
		if !slices.Contains(names, s.Name) {
			continue
		}
		one := compared{Connection: s.Name, Error: p.reason(s), Changes: map[string]string{}}
		if one.Trusted, err = p.trusted.Known(s.Name); err != nil {
			return p, nil, &exitError{exitFailed, err}
		}
		if one.Error == "" {
			if one.differ, err = p.trusted.Compare(s); err != nil {
				return p, nil, &exitError{exitFailed, err}
			}
		}
		for _, d := range one.differ {
			one.Changes[d.Tool] = d.Kind()
		}
		list = append(list, one)
	}
	return p, list, nil
}

func (c *console) trustList(ctx context.Context) error {
	p, list, err := c.compare(ctx, "")
	if p != nil {
		defer p.Close()
	}
	if err != nil {
		return err
	}
	if c.json {
		return c.showJSON(list)
	}
	for _, s := range list {
		switch {
		case s.Error != "":
			err = c.show("%s %s: %s", c.paint(c.out, red, "✗"), s.Connection, s.Error)
		case !s.Trusted:
			err = c.show("- %s: not seen yet", s.Connection)
		case len(s.differ) == 0:
			err = c.show("%s %s: as trusted", c.paint(c.out, green, "✓"), s.Connection)
		default:
			err = c.show("%s %s: %s", c.paint(c.out, red, "!"), s.Connection, plural(len(s.differ), "difference"))
			for _, d := range s.differ {
				err = errors.Join(err, c.show("    %s %s", d.Kind(), catalog.Clean(d.Tool)))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *console) trustDiff(ctx context.Context, args []string) error {
	only := ""
	if len(args) > 0 {
		only = args[0]
	}
	p, list, err := c.compare(ctx, only)
	if p != nil {
		defer p.Close()
	}
	if err != nil {
		return err
	}
	shown := 0
	for _, s := range list {
		for _, d := range s.differ {
			shown++
			if err := c.show("%s/%s (%s)\n%s", s.Connection, catalog.Clean(d.Tool), d.Kind(), d.Text()); err != nil {
				return err
			}
		}
	}
	if shown == 0 {
		c.say("everything is as it was trusted")
	}
	return nil
}

func (c *console) trustAccept(ctx context.Context, server string, tools []string) error {
	p, list, err := c.compare(ctx, server)
	if p != nil {
		defer p.Close()
	}
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return usage("server %q is disabled", server)
	}
	if list[0].Error != "" {
		return &exitError{exitUnreachable, fmt.Errorf("%s: %s", server, list[0].Error)}
	}
	s := p.catalog.Snapshot().Server(server)
	for _, t := range tools {
		if s.Entry(catalog.Tool, t) == nil {
			return usage("server %s has no tool %q", s.Name, t)
		}
	}
	if err := p.trusted.Accept(s, tools...); err != nil {
		return &exitError{exitFailed, err}
	}
	c.say("trusted: %s", s.Name)
	return c.trustTold(ctx, p)
}

func (c *console) trustForget(ctx context.Context, server string) error {
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return err
	}
	defer p.Close()
	if p.trusted == nil || p.catalog.Snapshot().Server(server) == nil {
		return usage("there is no server %q", server)
	}
	if err := p.trusted.Forget(p.catalog.Snapshot().Server(server).Name); err != nil {
		return &exitError{exitFailed, err}
	}
	c.say("forgotten: %s", server)
	return c.trustTold(ctx, p)
}

// trustTold makes running proxies look again.
func (c *console) trustTold(ctx context.Context, p *program) error {
	return c.tellProxies(ctx, p.cfg, func(one control.Client) error { _, err := one.Reload(ctx); return err })
}
