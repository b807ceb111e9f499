package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/mark3labs/mcp-go/server"

	"github.com/proxy-dispatch/proxy-dispatch/builtin"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/observe"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/downstream"
)

// dispatchOptions are the options of the dispatcher that a configuration sets.
func dispatchOptions(cfg *config.Config) dispatch.Options {
	o := dispatch.Options{
		SearchBudget: cfg.Search.Budget, StringArguments: cfg.Definition.Arguments == "string",
	}
	if t := cfg.Spill.Threshold; t != nil {
		o.Threshold = int(*t)
		if *t == 0 { // the configuration's word for never
			o.Threshold = math.MaxInt
		}
	}
	if t := cfg.Spill.ImageThreshold; t != nil {
		o.MediaThreshold = *t
		if *t == 0 {
			o.MediaThreshold = math.MaxInt64
		}
	}
	return o
}

// rulebookOf is what the dispatcher's rules are in a configuration, with what was made of it.
func (p *program) rulebookOf(cfg *config.Config, s *shaping) dispatch.Rulebook {
	return dispatch.Rulebook{Views: s.views, Hooks: s.hooks, Made: s.made, Rules: p.rulesOf(cfg), Confirm: confirmOf(cfg), Flow: flowOf(cfg),
		Keywords: keywordsOf(cfg), ToolKeywords: toolKeywords(cfg)}
}

// serverNamed returns a server as the configuration in force has it, nil if there is none of that name.
func (p *program) serverNamed(name string) *config.Server {
	cfg := p.inForce.Load()
	for i := range cfg.Servers {
		if s := &cfg.Servers[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// sharesFiles tells whether a server can open files of this machine: it is a process here, or a part of this one.
func (p *program) sharesFiles(name string) bool {
	s := p.serverNamed(name)
	return s != nil && (s.Command != "" || s.Builtin != "")
}

// identity changes with everything a server is made of: a part of this program is made of more than its own entry.
func (p *program) identity(s *config.Server) string {
	switch {
	case s.Builtin != "":
		return fmt.Sprint(s.ID, s.ReadOnly, p.cfg.AllowedRoots)
	case s.URL != "":
		return fmt.Sprint(s.ID, s.OAuth, s.Claims)
	}
	return s.ID
}

// server gives the fleet's options of one configured server.
func (p *program) server(s *config.Server) downstream.Server {
	out := downstream.Server{
		Name: s.Name, ID: p.identity(s), Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir, URL: s.URL, Headers: s.Headers, Transport: s.Transport,
		Timeout: s.Timeout, StartTimeout: s.StartTimeout, Lazy: s.Lazy, Disabled: s.Disabled, Unset: s.Unset, Protocol: s.Protocol,
		Describe: s.Describe, Framing: s.Framing, PerAgent: s.PerAgent,
	}
	out.Login = claims(s.Claims, p.login(s))
	switch s.Builtin {
	case "utils":
		o := builtin.UtilsOptions{Roots: p.cfg.AllowedRoots, ReadOnly: s.ReadOnly}
		out.Local = func() (*server.MCPServer, error) { return builtin.Utils(o) }
	case "dataset":
		out.Local = func() (*server.MCPServer, error) { return builtin.Dataset(builtin.DatasetOptions{}) }
	}
	return out
}

func (p *program) rulesOf(cfg *config.Config) view.Rules {
	r := view.Rules{Allow: cfg.Tools.Allow, Deny: cfg.Tools.Deny, Servers: map[string]view.ServerRules{}}
	for _, s := range cfg.Servers {
		r.Servers[s.Name] = view.ServerRules{Allow: s.Tools.Allow, Deny: s.Tools.Deny, ReadOnly: s.ReadOnly}
	}
	r.Withheld = p.withheld(cfg)
	return r
}

func flowOf(cfg *config.Config) (f dispatch.Flow) {
	for _, r := range cfg.Flow.Allow {
		f.Allow = append(f.Allow, dispatch.FlowRule(r))
	}
	for _, r := range cfg.Flow.Deny {
		f.Deny = append(f.Deny, dispatch.FlowRule(r))
	}
	return f
}

func confirmOf(cfg *config.Config) dispatch.ConfirmRules {
	r := dispatch.ConfirmRules{Tools: cfg.Tools.Confirm, Servers: map[string][]string{}}
	for _, s := range cfg.Servers {
		r.Servers[s.Name] = s.Tools.Confirm
	}
	return r
}

func keywordsOf(cfg *config.Config) map[string][]string {
	out := map[string][]string{}
	for _, s := range cfg.Servers {
		if len(s.Keywords) > 0 {
			out[s.Name] = s.Keywords
		}
	}
	return out
}

// cacheDir is where catalogs and kept results live.
func cacheDir(cfg *config.Config) (string, error) {
	if cfg.CacheDir != "" {
		return cfg.CacheDir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "proxy-dispatch"), nil
}

// watcher is the command line of our own binary as the watcher, nil if it cannot be found.
func watcher() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, watchWord}
}

// forCommand loads the configuration and wires the house for a command that ends: its log is silent
// unless asked for.
func (c *console) forCommand(ctx context.Context, w wiring) (*program, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, err
	}
	level := "error"
	if c.verbose {
		level = "debug"
	}
	w.log, _, err = observe.NewLogger(observe.LogOptions{Level: level, Format: cfg.Log.Format, Stderr: c.err, Redact: cfg.Redactor().Redact})
	if err != nil {
		return nil, err
	}
	w.env = c.env
	return wire(ctx, cfg, w)
}
