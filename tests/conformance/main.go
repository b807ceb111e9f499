// Command conformance runs the public suites against the full server, directly and through the proxy, and writes down what it saw.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/suite"
)

func main() {
	o := options{}
	flag.StringVar(&o.proxy, "proxy", "bin/proxy-dispatch", "the built proxy")
	flag.StringVar(&o.server, "server", "bin/everything", "the built full server")
	flag.StringVar(&o.client, "client", "bin/client", "the built client")
	flag.StringVar(&o.servers, "servers", "", "the folder that tests/npm/install filled")
	flag.StringVar(&o.out, "out", "", "write the report to this file instead of stdout")
	flag.BoolVar(&o.verbose, "v", false, "show what the proxy logs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

type options struct {
	proxy, server, client, servers, out string
	verbose                             bool
}

// way is one road from a suite to the full server.
type way struct {
	name     string
	direct   bool
	protocol string // what the proxy speaks to the server; "same" follows the suite, "other" does not
	stdio    bool
}

var ways = []way{
	{name: "directly", direct: true},
	{name: "through us", protocol: "same"},
	{name: "server over stdio", protocol: "same", stdio: true},
	{name: "server of the other era", protocol: "other"},
}

func (w way) era(wire string) string {
	if (wire == "2026-07-28") == (w.protocol == "same") {
		return "2026-07-28"
	}
	return "legacy"
}

// measured is what a suite made of all ways, in their order.
type measured struct {
	suite.Suite
	ways [][]suite.Outcome
}

func run(ctx context.Context, o options) error {
	var table []measured
	for _, s := range suite.Suites {
		m := measured{Suite: s}
		for _, w := range ways {
			list, err := o.measure(ctx, s, w)
			if err != nil {
				return fmt.Errorf("suite %s at %s, %s: %w", s.Name, s.Wire, w.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s at %s, %s: %d of %d\n", s.Name, s.Wire, w.name, suite.Passed(list), s.Scenarios)
			m.ways = append(m.ways, list)
		}
		table = append(table, m)
	}
	clients, err := o.clients(ctx)
	if err != nil {
		return err
	}
	out := io.Writer(os.Stdout)
	if o.out != "" {
		f, err := os.Create(o.out)
		if err != nil {
			return fmt.Errorf("create report: %w", err)
		}
		defer f.Close()
		out = f
	}
	return report(out, table, clients)
}

// measure runs one suite along one way, with a fresh server and a fresh proxy.
func (o options) measure(ctx context.Context, s suite.Suite, w way) ([]suite.Outcome, error) {
	log := io.Discard
	if o.verbose {
		log = os.Stderr
	}
	server := ""
	if !w.stdio {
		addr, stop, err := suite.Listen(ctx, exec.Command(o.server, "-http", "127.0.0.1:0"), log)
		if err != nil {
			return nil, err
		}
		defer stop()
		server = "http://" + addr + "/mcp"
	}
	if w.direct {
		return suite.Place(o.servers).Run(ctx, s, server)
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "proxy-dispatch.yaml")
	if err := os.WriteFile(file, []byte(o.config(server, w.era(s.Wire))), 0o600); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	cmd := exec.Command(o.proxy, "serve", "--config", file, "--expose", "transparent", "--http", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir, "TMPDIR="+dir)
	addr, stop, err := suite.Listen(ctx, cmd, log)
	if err != nil {
		return nil, err
	}
	defer stop()
	return suite.Place(o.servers).Run(ctx, s, "http://"+addr+"/mcp")
}

// config is the proxy's configuration with the full server behind it, at a URL or, without one, over stdio.
func (o options) config(url, protocol string) string {
	server := fmt.Sprintf(`{"url": %q, "protocol": %q}`, url, protocol)
	if url == "" {
		server = fmt.Sprintf(`{"command": %q, "protocol": %q}`, o.server, protocol)
	}
	return `{"mcpServers": {"everything": ` + server + `}, "transparent": {"names": "plain"}}`
}
