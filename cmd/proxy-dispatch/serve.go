package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/control"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/observe"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/auth"
)

// drainTime is how long calls over HTTP may go on at SIGTERM where the configuration does not say.
const drainTime = 5 * time.Second

// serving is what the flags of serve say.
type serving struct {
	http, transport, view string
	port                  int
	expose                []string
}

func (c *console) serveCommand() *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "serve [WORD=VALUE …]",
		Short: "Show agents the one tool, over stdio or HTTP",
		Long: `serve speaks MCP to agents: over stdio to the one that started it, or over HTTP on a loopback address.

The words of mini-a may follow: mcp=(cmd: '…') or mcp='{"command":…}' (may be repeated), mcpproxy=true,
useutils=true, mcplazy=true, mcpproxythreshold=N, mcpproxyallow=…, mcpproxydeny=…, toolcachettl=MS. If they name servers,
a configuration file is read only if --config names one.`,
		Example: `  proxy-dispatch serve
  proxy-dispatch serve --config servers.yaml --http 127.0.0.1:8931
  proxy-dispatch serve --transport http --port 8931
  proxy-dispatch serve mcp="(cmd: 'npx -y @modelcontextprotocol/server-memory')" useutils=true`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error { return c.serve(cmd.Context(), s, words) },
	}
	f := cmd.Flags()
	f.StringVar(&s.http, "http", "", "listen for HTTP on this address, such as 127.0.0.1:8931")
	f.StringVar(&s.transport, "transport", "", "stdio (default) or http")
	f.IntVar(&s.port, "port", 0, "port on 127.0.0.1 for --transport http (default 8931)")
	f.StringSliceVar(&s.expose, "expose", nil, "faces to show: dispatch (default), proxy, transparent, view:NAME")
	f.StringVar(&s.view, "view", "", "show a tool view, as --expose view:NAME")
	return cmd
}

func (c *console) serve(ctx context.Context, s serving, words []string) error {
	if err := s.check(); err != nil {
		return err
	}
	cfg, err := c.servedConfig(words)
	if err != nil {
		return err
	}
	if err := checkViews(cfg, s.exposed(cfg)); err != nil {
		return err
	}
	level := cfg.Log.Level
	if c.verbose {
		level = "debug"
	}
	redact := newRedaction(cfg)
	log, closer, err := observe.NewLogger(observe.LogOptions{
		Level: level, Format: cfg.Log.Format, File: cfg.Log.File, Stderr: c.err, Redact: redact.Redact,
	})
	if err != nil {
		return err
	}
	defer closer.Close()
	door, err := c.doorkeeper(cfg, log)
	if err != nil {
		return err
	}
	p, err := wire(ctx, cfg, wiring{log: log, env: c.env, redact: redact, lasting: true, door: door})
	if err != nil {
		return err
	}
	for _, line := range cfg.Ignored {
		log.Info("configuration", "ignored", line)
	}
	c.boundMemory()
	// The servers end with Close, not with ctx: running calls are given their moment first.
	start := sync.OnceFunc(func() { p.fleet.Start(context.WithoutCancel(ctx)) })
	address := s.address(cfg)
	face, paths, err := p.faces(s.exposed(cfg))
	if err != nil {
		return errors.Join(err, p.Close())
	}
	o := serve.Options{Face: face, Version: versionText(), Log: log}
	steering := &steering{program: p, load: func() (*config.Config, error) { return c.servedConfig(words) }, env: c.env}
	stop := c.steer(context.WithoutCancel(ctx), steering)
	p.closers = append(p.closers, func() error { stop(); return nil })
	p.closers = append(p.closers, func() func() error { stop := p.keepTrust(); return func() error { stop(); return nil } }())
	p.admin = control.Handler("/admin", steering)
	if address == "" {
		o.OnListed, p.lobby.only = start, func() {}
		patience := startSoon
		if slices.Contains(s.exposed(cfg), "transparent") { // whose lists wait for servers, which are told who the agent is
			p.lobby.only, patience = start, startLater
		}
		soon := time.AfterFunc(patience, start)
		err = serve.Stdio(ctx, o, c.in, c.out)
		soon.Stop()
	} else {
		start()
		err = c.serveHTTP(ctx, p, serve.HTTPOptions{Options: o, Addr: address, Paths: paths})
	}
	return errors.Join(failed(err), p.Close())
}

// memoryGoal is above what heap size garbage is collected eagerly.
const memoryGoal = 256 << 20

// boundMemory keeps what large results leave behind from adding up: they are few, large and cheap to
// collect, and without a goal the runtime lets the heap double first. GOMEMLIMIT decides otherwise.
func (c *console) boundMemory() {
	if _, set := c.env("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryGoal)
	}
}

// startSoon is when the servers start at the latest: after the agent has its first tools/list, because
// starting processes would compete with it, and a call or search before that starts what it needs.
const startSoon = 200 * time.Millisecond

// startLater is the same where servers start as soon as the agent has said who it is.
const startLater = time.Second

// failed makes a failure to serve one of the program, not of its usage.
func failed(err error) error {
	if err == nil || errors.Is(err, serve.ErrNeedsAuth) {
		return err
	}
	return &exitError{exitFailed, err}
}

// check refuses what flags cannot mean together and what is not there yet.
func (s *serving) check() error {
	if err := s.checkFaces(); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "stdio", "http"}, s.transport) {
		return usage("--transport must be stdio or http, not %q", s.transport)
	}
	if s.transport == "stdio" && s.http != "" {
		return usage("--transport stdio and --http contradict each other")
	}
	if s.port != 0 && s.transport != "http" {
		return usage("--port needs --transport http")
	}
	if s.port != 0 && s.http != "" {
		return usage("give --http or --port, not both")
	}
	if s.port < 0 || s.port > 65535 {
		return usage("--port must be 1 to 65535")
	}
	return nil
}

// address is where to listen; "" means stdio. Flags beat the configuration.
func (s *serving) address(cfg *config.Config) string {
	switch {
	case s.http != "":
		return s.http
	case s.transport == "http" && s.port != 0:
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	case s.transport == "http" && cfg.HTTP.Listen == "":
		return "127.0.0.1:8931"
	case s.transport == "stdio":
		return ""
	}
	return cfg.HTTP.Listen
}

// servedConfig is the configuration of the words, of the file, or of both.
func (c *console) servedConfig(words []string) (*config.Config, error) {
	if len(words) == 0 {
		return c.load()
	}
	said, err := config.FromWords(words, c.env)
	if err != nil {
		return nil, err
	}
	if len(said.Servers) > 0 && c.configPath == "" {
		return c.use(said), nil
	}
	cfg, err := c.load()
	if err != nil {
		return nil, err
	}
	if err := cfg.Merge(said); err != nil {
		return nil, err
	}
	return c.use(cfg), nil
}

func (c *console) serveHTTP(ctx context.Context, p *program, o serve.HTTPOptions) error {
	if files := p.cfg.HTTP.TLS; files.Cert != "" {
		cert, err := loadCertificate(files, p.log)
		if err != nil {
			return err
		}
		o.TLS = &tls.Config{GetCertificate: cert.Get, MinVersion: tls.VersionTLS12}
	}
	o.Open = map[string]http.Handler{}
	if door := p.door; door != nil {
		o.Auth, o.Limits = door, door.limits
		o.Open[auth.MetadataPath], o.Open[auth.MetadataPath+"/"] = door.metadata(), door.metadata()
	}
	if token := p.cfg.HTTP.AdminToken; token != "" {
		o.Open["/admin/"] = control.Behind(token, p.admin)
	}
	o.Hosts, o.Drain, o.Stateless = p.cfg.HTTP.Hosts, cmp.Or(p.cfg.HTTP.Drain, drainTime), p.cfg.HTTP.Stateless
	if key := p.cfg.HTTP.StateKey; key != "" {
		sum := sha256.Sum256([]byte(key))
		o.StateKey = sum[:]
	}
	o.Extra = map[string]http.Handler{"/metrics": p.observer.Metrics()}
	o.OnListen = func(a net.Addr) {
		scheme := "http"
		if o.TLS != nil {
			scheme = "https"
		}
		c.say("listening on %s://%s/mcp", scheme, a)
	}
	return serve.HTTP(ctx, o)
}
