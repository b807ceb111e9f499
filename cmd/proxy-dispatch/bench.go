package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/downstream"
)

// benchFlags say what is measured.
type benchFlags struct {
	tool, server          string
	calls, atOnce, warmUp int
}

func (c *console) benchCommand() *cobra.Command {
	f := benchFlags{warmUp: 5}
	cmd := &cobra.Command{
		Use:   "bench --tool TOOL [JSON]",
		Short: "Compare calls of a tool through the proxy with direct ones",
		Long: `bench calls a read-only or harmless tool many times, directly at its server and through a proxy-dispatch of
its own, one call at a time and many at once, and prints both with their ratio. A stdio server is started
twice; a remote or built-in one is reached directly over our own connection to it.`,
		Example: `  proxy-dispatch bench --tool get_current_time
  proxy-dispatch bench --tool orders/query_rows '{"rows": 100}' --calls 500`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.bench(cmd.Context(), f, strings.Join(args, ""))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tool, "tool", "", "the tool to call")
	flags.StringVar(&f.server, "server", "", "only this server")
	flags.IntVar(&f.calls, "calls", 300, "calls of each measurement")
	flags.IntVar(&f.atOnce, "at-once", 64, "calls at once in the second measurement")
	c.wantsJSON(cmd)
	return cmd
}

func (c *console) bench(ctx context.Context, f benchFlags, args string) error {
	if args == "" {
		args = "{}"
	}
	switch {
	case f.tool == "":
		return usage("bench needs --tool")
	case f.calls < 1 || f.calls > 1_000_000 || f.atOnce < 1 || f.atOnce > 10_000:
		return usage("--calls and --at-once must be 1 or more, within reason")
	case !json.Valid([]byte(args)):
		return usage("the arguments are not JSON")
	}
	p, err := c.forCommand(ctx, wiring{})
	if err != nil {
		return err
	}
	defer p.Close()
	ref, err := c.benchedTool(ctx, p, f, args)
	if err != nil {
		return err
	}
	direct, closeDirect, err := p.direct(ctx, ref, args)
	if err != nil {
		return &exitError{exitUnreachable, fmt.Errorf("call directly: %w", err)}
	}
	defer closeDirect()
	through, closeThrough, err := p.through(ctx, ref, args)
	if err != nil {
		return failed(fmt.Errorf("start the proxy: %w", err))
	}
	defer closeThrough()
	var rows []measured
	for _, atOnce := range []int{1, f.atOnce} {
		row := measured{AtOnce: atOnce, Calls: f.calls}
		if row.Direct, err = measure(ctx, direct, f, atOnce); err == nil {
			row.Through, err = measure(ctx, through, f, atOnce)
		}
		if err != nil {
			return failed(err)
		}
		row.P50Ratio = float64(row.Through.P50) / float64(row.Direct.P50)
		row.ThroughputRatio = row.Through.PerSecond / row.Direct.PerSecond
		rows = append(rows, row)
	}
	if c.json {
		return c.showJSON(rows)
	}
	return c.showMeasured(rows)
}

// benchedTool makes one call with all checks, so that only sound calls are measured.
func (c *console) benchedTool(ctx context.Context, p *program, f benchFlags, args string) (catalog.Ref, error) {
	whole := int64(0)
	var answer *dispatch.CallAnswer
	err := c.withTool(ctx, p, f.tool, f.server, func() (err error) {
		answer, err = p.dispatcher.Call(ctx, me, dispatch.CallRequest{Tool: f.tool, Connection: f.server, Arguments: json.RawMessage(args), Threshold: &whole})
		return err
	})
	if err != nil {
		return catalog.Ref{}, err
	}
	if answer.IsError {
		return catalog.Ref{}, &exitError{exitFailed, fmt.Errorf("%s fails with these arguments", f.tool)}
	}
	return catalog.Ref{Server: answer.Connection, Kind: catalog.Tool, Name: answer.Tool}, nil
}

// caller makes one call; it may be used by many at once.
type caller func(ctx context.Context) error

// direct calls a tool at its server: a stdio server of our own making, else our connection to it.
func (p *program) direct(ctx context.Context, ref catalog.Ref, args string) (caller, func(), error) {
	name, err := json.Marshal(ref.Name)
	if err != nil {
		return nil, nil, err
	}
	params := `{"name":` + string(name) + `,"arguments":` + args + `}`
	i := slices.IndexFunc(p.cfg.Servers, func(s config.Server) bool { return s.Name == ref.Server })
	s := p.cfg.Servers[i]
	if s.Command == "" {
		return func(ctx context.Context) error {
			_, err := p.fleet.Do(ctx, downstream.Request{Server: s.Name, Method: "tools/call", Params: json.RawMessage(params)})
			return err
		}, func() {}, nil
	}
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	a, err := startAgent(cmd)
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = a.Close() }
	if _, err := a.hello(ctx); err != nil {
		end()
		return nil, nil, err
	}
	return func(ctx context.Context) error {
		_, err := a.request(ctx, "tools/call", params)
		return err
	}, end, nil
}

// through calls a tool through a proxy of our own making, its result inline as it is when called directly.
func (p *program) through(ctx context.Context, ref catalog.Ref, args string) (caller, func(), error) {
	a, err := startAgent(exec.Command(command(), "serve", "--config", p.cfg.Path))
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = a.Close() }
	if _, err := a.hello(ctx); err != nil {
		end()
		return nil, nil, err
	}
	tool, err := json.Marshal(ref.String())
	if err != nil {
		return nil, end, err
	}
	request := `{"name":"proxy-dispatch","arguments":{"action":"call","tool":` + string(tool) + `,"arguments":` + args + `,"resultSizeThreshold":0}}`
	return func(ctx context.Context) error {
		_, err := a.request(ctx, "tools/call", request)
		return err
	}, end, nil
}

// measured is one measurement on both ways.
type measured struct {
	AtOnce          int     `json:"atOnce"`
	Calls           int     `json:"calls"`
	Direct          figures `json:"direct"`
	Through         figures `json:"through"`
	P50Ratio        float64 `json:"p50Ratio"`
	ThroughputRatio float64 `json:"throughputRatio"`
}

type figures struct {
	P50       time.Duration `json:"p50ns"`
	P95       time.Duration `json:"p95ns"`
	PerSecond float64       `json:"perSecond"`
}

// measure makes the calls, so many at once.
func measure(ctx context.Context, call caller, f benchFlags, atOnce int) (figures, error) {
	for range f.warmUp {
		if err := call(ctx); err != nil {
			return figures{}, err
		}
	}
	took := make([]time.Duration, f.calls)
	var next atomic.Int64
	var workers sync.WaitGroup
	var failure atomic.Pointer[error]
	start := time.Now()
	for range min(atOnce, f.calls) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(f.calls) && failure.Load() == nil; i = next.Add(1) - 1 {
				began := time.Now()
				if err := call(ctx); err != nil {
					failure.CompareAndSwap(nil, &err)
					return
				}
				took[i] = time.Since(began)
			}
		})
	}
	workers.Wait()
	if err := failure.Load(); err != nil {
		return figures{}, *err
	}
	all := time.Since(start)
	slices.Sort(took)
	return figures{P50: took[len(took)/2], P95: took[len(took)*95/100], PerSecond: float64(f.calls) / all.Seconds()}, nil
}

func (c *console) showMeasured(rows []measured) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tdirect\tthrough\tratio\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%d at once, p50\t%v\t%v\t%.2f\t\n", r.AtOnce, short(r.Direct.P50), short(r.Through.P50), r.P50Ratio)
		fmt.Fprintf(w, "p95\t%v\t%v\t%.2f\t\n", short(r.Direct.P95), short(r.Through.P95), float64(r.Through.P95)/float64(r.Direct.P95))
		fmt.Fprintf(w, "calls a second\t%.0f\t%.0f\t%.2f\t\n", r.Direct.PerSecond, r.Through.PerSecond, r.ThroughputRatio)
	}
	return w.Flush()
}

func short(d time.Duration) time.Duration { return d.Round(d.Abs()/1000 + 1) }
