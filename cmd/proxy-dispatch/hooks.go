package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/composite"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/process"
	"github.com/proxy-dispatch/proxy-dispatch/hook"
	"github.com/proxy-dispatch/proxy-dispatch/hook/outside"
)

// shaping is what views, hooks and tools of our own of a configuration are made of, with what they hold open.
type shaping struct {
	modules modules // of hooks and tools, read anew with each configuration
	views   map[string]view.Definition
	hooks   []dispatch.HookRule
	made    map[string][]dispatch.Made
	closers []func() error
}

// poolSize is how many processes of a kept command there are.
const poolSize = 4

// shape builds the views, hooks and tools of our own. Close ends what it started.
func (p *program) shape(cfg *config.Config) (s *shaping, err error) {
	s = &shaping{views: map[string]view.Definition{}, made: map[string][]dispatch.Made{}, modules: modules{limits: limitsOf(cfg)}}
	s.closers = append(s.closers, s.modules.Close)
	for _, v := range cfg.Views {
		s.views[v.Name] = v.Definition
	}
	watch := process.NewWatcher(watcher(), p.log)
	s.closers = append(s.closers, func() error { watch.Close(); return nil })
	for i := range cfg.Hooks {
		h := &cfg.Hooks[i]
		run, err := p.hook(s, cfg, h, watch)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", place(cfg, h.Line, h.Name), err), s.Close())
		}
		s.hooks = append(s.hooks, dispatch.HookRule{Name: h.Name, Views: h.Views, Servers: h.Servers, Tools: h.Tools, After: h.After, Hook: run})
	}
	for _, c := range cfg.Composites {
		s.made[c.View] = append(s.made[c.View], compositeTool{c.Tool})
	}
	for _, c := range cfg.Custom {
		tool, err := s.modules.customTool("", c.File+"#"+c.Export)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", place(cfg, c.Line, "custom_tools"), err), s.Close())
		}
		s.made[c.View] = append(s.made[c.View], tool)
	}
	return s, nil
}

// place is where in the configuration something stands.
func place(cfg *config.Config, line int, what string) string {
	return fmt.Sprintf("%s:%d: %s", filepath.Base(cfg.Path), line, what)
}

// Close ends what hooks have started.
func (s *shaping) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// hook makes one hook.
func (p *program) hook(s *shaping, cfg *config.Config, h *config.Hook, watch *process.Watcher) (dispatch.Hook, error) {
	switch {
	case h.Module != "":
		m, export, err := s.modules.load("", h.Module+"#"+h.Export)
		if err != nil {
			return nil, err
		}
		if e, err := m.Describe(export); err != nil {
			return nil, err
		} else if !e.Callable {
			return nil, fmt.Errorf("%s is no function", export)
		}
		return outside.Module(m, export, h.Timeout), nil
	case len(h.Command) > 0:
		o := outside.CommandOptions{Command: h.Command, Dir: filepath.Dir(cfg.Path), Timeout: h.Timeout, Log: p.log, Watcher: watch,
			Show: func(text string, _ int) string { return p.redactor.RedactStderr(text) }}
		if h.Pool {
			o.Keep = poolSize
		}
		c := outside.NewCommand(o)
		s.closers = append(s.closers, c.Close)
		return c, nil
	case h.URL != "":
		return outside.URL(outside.URLOptions{URL: h.URL, Headers: h.Headers, Timeout: h.Timeout}), nil
	}
	return p.builtinHook(s, h)
}

func (p *program) builtinHook(s *shaping, h *config.Hook) (dispatch.Hook, error) {
	switch h.Builtin {
	case "redact":
		return hook.Redact(hook.RedactOptions{Patterns: h.Patterns, Keys: h.Keys, With: h.With})
	case "set":
		return hook.Set(h.Args)
	case "default":
		return hook.Default(h.Args)
	case "rate_limit":
		return hook.Limit(hook.LimitOptions{Calls: h.Calls, Per: h.Per, By: h.By}), nil
	case "require_auth":
		return hook.RequireAuth(h.Principals...)
	case "cache":
		return hook.Cache(hook.CacheOptions{TTL: h.TTL, Keys: h.Keys, Entries: h.Entries, Bytes: h.Bytes, Shared: h.Shared}), nil
	}
	if h.File == "" {
		return hook.Audit(p.log), nil
	}
	f, err := os.OpenFile(h.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the audit file: %w", err)
	}
	s.closers = append(s.closers, f.Close)
	return hook.Audit(slog.New(slog.NewJSONHandler(f, nil))), nil
}

// compositeTool is a composite as a tool of our own.
type compositeTool struct{ *composite.Tool }

// Run makes the calls through all stations.
func (t compositeTool) Run(ctx context.Context, in dispatch.Inside, args json.RawMessage) (json.RawMessage, error) {
	return t.Tool.Run(ctx, in, args)
}
