package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/script"
)

// limitsOf are the bounds of scripts that a configuration sets.
func limitsOf(cfg *config.Config) script.Limits {
	s := cfg.Script
	return script.Limits{Timeout: s.Timeout, Memory: s.Memory, Calls: s.Calls}
}

// scripts runs the code of agents.
type scripts struct {
	runner *script.Runner
	limits script.Limits
}

// openScripts readies the running of code, where it is switched on.
func (p *program) openScripts() dispatch.Scripts {
	if !p.cfg.Script.Enabled {
		return nil
	}
	s := scripts{limits: limitsOf(p.cfg)}
	s.runner = script.New(s.limits)
	p.closers = append(p.closers, s.runner.Close)
	return s
}

func (s scripts) MaxValue() int64 { return s.limits.MaxValue() }

func (s scripts) Run(ctx context.Context, code string, h dispatch.ScriptHost) (json.RawMessage, error) {
	v, err := s.runner.Run(ctx, code, h)
	return v, scriptError(err)
}

// scriptError says in an agent's words how code failed.
func scriptError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		return e
	}
	out := &dispatch.Error{Code: dispatch.Internal, Message: err.Error(), Err: err}
	if e, ok := errors.AsType[*script.Error](err); ok {
		out.Code, out.Message = dispatch.BadRequest, "the code threw "+e.Error()
		return out
	}
	switch {
	case errors.Is(err, script.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		out.Code, out.Do = dispatch.Timeout, "Do less in one run, or have script.timeout raised"
	case errors.Is(err, script.ErrMemory):
		out.Code, out.Do = dispatch.TooLarge, "Narrow large results with read(handle, {jq}), and keep what is needed of each only"
	case errors.Is(err, script.ErrIdle):
		out.Code, out.Do = dispatch.BadRequest, "Await only what call, tools, read and search give: there are no timers"
	case errors.Is(err, script.ErrBusy):
		out.Code, out.Retryable = dispatch.ServerUnavailable, true
	}
	return out
}

// modules are the files of JavaScript that the configuration names, each loaded once. Close ends them.
type modules struct {
	limits script.Limits
	mu     sync.Mutex
	loaded map[string]*script.Module
}

// load gives the module of a file and the export that ref names: FILE.js#EXPORT or folder.file.export, in folder.
func (m *modules) load(folder, ref string) (*script.Module, string, error) {
	file, export, err := script.Split(ref)
	if err != nil {
		return nil, "", err
	}
	if file = filepath.FromSlash(file); !filepath.IsAbs(file) {
		file = filepath.Join(folder, file)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if have := m.loaded[file]; have != nil {
		return have, export, nil
	}
	mod, err := m.limits.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s: there is no such file: %w", ref, err)
	}
	if err != nil {
		return nil, "", err
	}
	if m.loaded == nil {
		m.loaded = map[string]*script.Module{}
	}
	m.loaded[file] = mod
	return mod, export, nil
}

// Close ends all modules.
func (m *modules) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, mod := range m.loaded {
		errs = append(errs, mod.Close())
	}
	m.loaded = nil
	return errors.Join(errs...)
}

// customTool is a tool that a module exports.
type customTool struct {
	module     *script.Module
	export     string
	definition json.RawMessage
}

// customTool loads a tool: an export with a description, an inputSchema and a function, or a function beside which the
// module exports them. Its name is the one it says, or that of the export.
func (m *modules) customTool(folder, ref string) (dispatch.Made, error) {
	mod, export, err := m.load(folder, ref)
	if err != nil {
		return nil, err
	}
	e, err := mod.Describe(export)
	if err != nil {
		return nil, err
	}
	if !e.Callable {
		return nil, fmt.Errorf("%s: neither a function nor an object with the function run", ref)
	}
	if e.Name == "" {
		if e.Name = export; export == "default" {
			return nil, fmt.Errorf("%s: a default export needs a name", ref)
		}
	}
	if len(e.InputSchema) == 0 {
		e.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	definition, err := json.Marshal(struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  json.RawMessage `json:"annotations,omitempty"`
	}{e.Name, e.Title, e.Description, e.InputSchema, e.OutputSchema, e.Annotations})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return &customTool{mod, export, definition}, nil
}

// Definition is the tool's tools/list entry.
func (t *customTool) Definition() json.RawMessage { return t.definition }

// Run calls the function. Each call begins anew, so that nothing of one agent's call is there in another's.
func (t *customTool) Run(ctx context.Context, in dispatch.Inside, args json.RawMessage) (json.RawMessage, error) {
	v, err := t.module.Call(ctx, t.export, anew{in}, args)
	if err != nil {
		return nil, scriptError(err)
	}
	if v == nil {
		v = json.RawMessage("null")
	}
	return v, nil
}

// anew is the host of a call that shares nothing with others.
type anew struct{ dispatch.Inside }

func (anew) Scope() string { return "" }
