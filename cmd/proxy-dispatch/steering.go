package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/edit"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/control"
	"github.com/proxy-dispatch/proxy-dispatch/downstream"
)

// steering changes a running program. It implements control.Controller.
type steering struct {
	program *program
	load    func() (*config.Config, error)
	env     config.Env
}

// Reload reads the configuration again.
func (s *steering) Reload(context.Context) (control.Report, error) {
	report, err := s.program.reload(s.load)
	s.tell(report, err)
	return report, s.plain(err)
}

// tell logs what became of a change.
func (s *steering) tell(r control.Report, err error) {
	if err != nil {
		s.program.log.Error("configuration not taken over", "why", err)
		return
	}
	if len(r.Added)+len(r.Removed)+len(r.Changed)+len(r.NeedsRestart) == 0 {
		s.program.log.Debug("configuration read again: the servers are the same")
		return
	}
	s.program.log.Info("configuration taken over", "added", r.Added, "removed", r.Removed, "changed", r.Changed)
	if len(r.NeedsRestart) > 0 {
		s.program.log.Warn("in force only after a restart", "keys", r.NeedsRestart)
	}
}

// plain gives an error without secrets.
func (s *steering) plain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s", s.program.redactor.Redact(err.Error()))
}

// Change changes a server in the file and reloads it.
func (s *steering) Change(ctx context.Context, verb control.Verb, server string, entry json.RawMessage) (control.Report, error) {
	path := s.program.cfg.Path
	if path == "" {
		return control.Report{}, errors.New("the configuration came from the command line: there is no file to change")
	}
	if err := changeServer(path, s.env, verb, server, entry); err != nil {
		if errors.Is(err, control.ErrUnknownServer) {
			return control.Report{}, err
		}
		return control.Report{}, s.plain(err)
	}
	return s.Reload(ctx)
}

// Restart ends a server's session and begins a new one.
func (s *steering) Restart(server string) error {
	err := s.program.fleet.Restart(server)
	if errors.Is(err, downstream.ErrUnknownServer) {
		return fmt.Errorf("%w: %q", control.ErrUnknownServer, server)
	}
	return s.plain(err)
}

// Servers tells how the servers stand.
func (s *steering) Servers() []control.Server {
	all := []control.Server{}
	for _, name := range s.program.serverNames() {
		state, why := s.program.fleet.State(name)
		all = append(all, control.Server{Name: name, State: string(state), Why: s.program.redactor.Redact(why)})
	}
	return all
}

// changeServer changes one server of a configuration file, and nothing else in it. A change that would make the file
// faulty is not made.
func changeServer(path string, env config.Env, verb control.Verb, server string, entry json.RawMessage) error {
	return changeFile(path, env, func(file []byte) ([]edit.Change, error) {
		tree, faults := notation.Parse(path, file)
		block, found := "mcpServers", (*notation.Node)(nil)
		if tree != nil {
			for _, m := range tree.Members {
				if config.IsServerBlock(m.Key) {
					block, found = m.Key, m.Value.Get(server)
				}
			}
		}
		switch {
		case len(faults) > 0 && len(strings.TrimSpace(string(file))) > 0:
			return nil, fmt.Errorf("%s:%d: %s", path, faults[0].Line, faults[0].Msg)
		case verb == control.Add && found != nil:
			return nil, fmt.Errorf("server %q is there already; remove it first, or change the file", server)
		case verb != control.Add && found == nil:
			return nil, fmt.Errorf("%w in %s: %q", control.ErrUnknownServer, path, server)
		}
		return serverChanges(verb, block, server, found, entry)
	})
}

func serverChanges(verb control.Verb, block, server string, found *notation.Node, entry json.RawMessage) ([]edit.Change, error) {
	switch verb {
	case control.Add:
		node, faults := notation.ParseJSON(entry)
		if len(faults) > 0 || node.Kind != notation.Mapping {
			return nil, errors.New("the entry of a server must be a JSON object")
		}
		return []edit.Change{edit.Set(node, block, server)}, nil
	case control.Remove:
		return []edit.Change{edit.Remove(block, server)}, nil
	case control.Disable:
		return []edit.Change{edit.Set(&notation.Node{Kind: notation.Bool, Text: "true"}, block, server, "disabled")}, nil
	}
	if found.Get("disabled") == nil {
		return nil, nil
	}
	return []edit.Change{edit.Remove(block, server, "disabled")}, nil
}

// changeFile changes a configuration file as text. It is replaced whole, and only if what comes of it is a good
// configuration; a missing file is an empty one.
func changeFile(path string, env config.Env, plan func(file []byte) ([]edit.Change, error)) error {
	file, err := readIfThere(path)
	if err != nil {
		return err
	}
	changes, err := plan(file)
	if err != nil || len(changes) == 0 {
		return err
	}
	changed, err := edit.Apply(path, slices.Clone(file), changes...)
	if err != nil {
		return fmt.Errorf("change %s: %w", path, err)
	}
	if _, err := config.Parse(path, changed, env); err != nil {
		return fmt.Errorf("the change was not made: %w", err)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := writeWhole(path, changed, mode); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}
