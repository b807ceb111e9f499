package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/control"
)

func (c *console) serverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Add, remove, switch on and off, or restart a server, also of a running proxy",
		Long: `server changes one server in the configuration file and leaves everything else in it as it is written. The
proxies that serve this file take the change over at once, without a restart; restart changes no file.`,
		Example: `  proxy-dispatch server add memory -- npx -y @modelcontextprotocol/server-memory
  proxy-dispatch server add web --url https://example.com/mcp --header 'Authorization=Bearer ${TOKEN}'
  proxy-dispatch server disable memory
  proxy-dispatch server restart memory`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.serverAddCommand())
	for _, v := range []struct {
		verb  control.Verb
		short string
	}{
		{control.Remove, "Take a server out of the configuration"},
		{control.Enable, "Switch a server on again"},
		{control.Disable, "Switch a server off, keeping its entry"},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: string(v.verb) + " NAME", Short: v.short, Args: cobra.ExactArgs(1),
			Example: "  proxy-dispatch server " + string(v.verb) + " memory",
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.changeServer(cmd.Context(), v.verb, args[0], nil)
			},
		})
	}
	cmd.AddCommand(&cobra.Command{
		Use: "restart NAME", Short: "End a server's session in the running proxies and begin a new one", Args: cobra.ExactArgs(1),
		Example: "  proxy-dispatch server restart memory",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.restartServer(cmd.Context(), args[0]) },
	})
	return cmd
}

// newServer is what the flags of `server add` say.
type newServer struct {
	url, transport string
	env, headers   []string
	entry          string
	lazy, readOnly bool
}

func (c *console) serverAddCommand() *cobra.Command {
	var n newServer
	cmd := &cobra.Command{
		Use:   "add NAME [flags] [-- COMMAND ARG …]",
		Short: "Put a server into the configuration",
		Example: `  proxy-dispatch server add memory -- npx -y @modelcontextprotocol/server-memory
  proxy-dispatch server add web --url https://example.com/mcp --header 'Authorization=Bearer ${TOKEN}'
  proxy-dispatch server add files --json '{"command": "npx", "args": ["-y", "x"], "lazy": true}'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := n.body(args[1:])
			if err != nil {
				return err
			}
			return c.changeServer(cmd.Context(), control.Add, args[0], entry)
		},
	}
	f := cmd.Flags()
	f.StringVar(&n.url, "url", "", "address of a remote server")
	f.StringVar(&n.transport, "transport", "", "stdio, http or sse (default: by command or URL)")
	f.StringArrayVar(&n.env, "env", nil, "NAME=VALUE for its environment (repeatable; ${VAR} is expanded when it is read)")
	f.StringArrayVar(&n.headers, "header", nil, "NAME=VALUE sent with each request (repeatable)")
	f.BoolVar(&n.lazy, "lazy", false, "start it at its first call")
	f.BoolVar(&n.readOnly, "read-only", false, "only tools that declare that they read")
	f.StringVar(&n.entry, "json", "", "the whole entry, as it would stand in the file")
	return cmd
}

// body is the entry of the server as JSON.
func (n newServer) body(command []string) (json.RawMessage, error) {
	if n.entry != "" {
		if len(command) > 0 || n.url != "" {
			return nil, usage("give --json or the parts of the entry, not both")
		}
		return json.RawMessage(n.entry), nil
	}
	if (len(command) == 0) == (n.url == "") {
		return nil, usage("give a command after --, or --url")
	}
	entry := struct {
		Command   string            `json:"command,omitempty"`
		Args      []string          `json:"args,omitempty"`
		Env       map[string]string `json:"env,omitempty"`
		URL       string            `json:"url,omitempty"`
		Headers   map[string]string `json:"headers,omitempty"`
		Transport string            `json:"transport,omitempty"`
		Lazy      bool              `json:"lazy,omitempty"`
		ReadOnly  bool              `json:"readOnly,omitempty"`
	}{URL: n.url, Transport: n.transport, Lazy: n.lazy, ReadOnly: n.readOnly}
	if len(command) > 0 {
		entry.Command, entry.Args = command[0], command[1:]
	}
	var err error
	if entry.Env, err = pairs("--env", n.env); err != nil {
		return nil, err
	}
	if entry.Headers, err = pairs("--header", n.headers); err != nil {
		return nil, err
	}
	return json.Marshal(entry)
}

func pairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, kv := range list {
		name, value, found := strings.Cut(kv, "=")
		if !found || name == "" {
			return nil, usage("%s must be NAME=VALUE, not %q", flag, name)
		}
		out[name] = value
	}
	return out, nil
}

// changeServer changes the file and tells the proxies that serve it.
func (c *console) changeServer(ctx context.Context, verb control.Verb, server string, entry json.RawMessage) error {
	path, err := config.Find(c.configPath, c.env)
	if errors.Is(err, config.ErrNotFound) && verb == control.Add {
		return usage("%w\nMake one with `proxy-dispatch init config --write`, or name one with --config", err)
	}
	if err != nil {
		return err
	}
	if err := changeServer(path, c.env, verb, server, entry); err != nil {
		return usage("%w", err)
	}
	c.say("%s: %s in %s", done[verb], server, path)
	cfg, err := config.Load(path, c.env)
	if err != nil {
		return err
	}
	return c.tellProxies(ctx, c.use(cfg), func(p control.Client) error {
		report, err := p.Reload(ctx)
		if err == nil && len(report.NeedsRestart) > 0 {
			c.say("process %d: in force only after a restart: %s", p.PID, strings.Join(report.NeedsRestart, ", "))
		}
		return err
	})
}

var done = map[control.Verb]string{control.Add: "added", control.Remove: "removed", control.Enable: "enabled", control.Disable: "disabled"}

// restartServer restarts a server in all proxies that serve the configuration.
func (c *console) restartServer(ctx context.Context, server string) error {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	asked := 0
	err = c.tellProxies(ctx, cfg, func(p control.Client) error { asked++; return p.Restart(ctx, server) })
	if err == nil && asked == 0 {
		return &exitError{exitFailed, fmt.Errorf("no running proxy serves %s", cfg.Path)}
	}
	return err
}

// tellProxies does something with each proxy that serves the configuration now.
func (c *console) tellProxies(ctx context.Context, cfg *config.Config, tell func(control.Client) error) error {
	place, err := c.controlPlace(cfg)
	if err != nil {
		return &exitError{exitFailed, err}
	}
	var errs []error
	told := 0
	for _, p := range place.Clients(ctx) {
		if err := tell(p); err != nil {
			errs = append(errs, err)
			continue
		}
		told++
	}
	if err := errors.Join(errs...); err != nil {
		return &exitError{exitFailed, err}
	}
	c.say("%s told.", cmp.Or(map[int]string{0: "No running proxy was", 1: "One running proxy was"}[told], fmt.Sprintf("%d running proxies were", told)))
	return nil
}
