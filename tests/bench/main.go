// Command bench measures the built proxy against the same servers without it, and prints one table of ratios.
//
// Times depend on the machine, ratios within one run much less: every figure is taken three times, through the proxy
// and directly in turn, and its median is shown. The only absolute figures are tokens and resident memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// row is one line of the table: what was measured, the line it should keep, and what came out.
type row struct {
	what, line string
	value      float64
	unit       string
	holds      bool
	note       string
}

// rig is what all measurements share.
type rig struct {
	ctx                   context.Context
	dir                   string
	proxy, fixture, echo  string
	catalog               string
	rounds, calls, starts int
	rows                  []row
}

func main() {
	var r rig
	flag.StringVar(&r.proxy, "proxy", "bin/proxy-dispatch", "the built proxy")
	flag.StringVar(&r.catalog, "catalog", "../shared/retrieval/real/catalog.json", "a catalog of many servers, for the memory figures")
	flag.IntVar(&r.rounds, "rounds", 3, "how often each ratio is taken")
	flag.IntVar(&r.calls, "echoes", 3000, "echo calls in a round")
	flag.IntVar(&r.starts, "starts", 20, "starts with and without broken servers")
	only := flag.String("only", "", "definition, start, echo, large, memory, spill, read, code or views alone")
	flag.Parse()
	if other, err := r.other(flag.Args()); other {
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r.ctx = ctx
	if err := r.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// other runs this program as one of the servers it measures with.
func (r *rig) other(args []string) (bool, error) {
	switch {
	case len(args) == 2 && args[0] == relayWord:
		return true, relay(args[1])
	case len(args) == 1 && args[0] == hookWord:
		return true, answerHooks()
	case len(args) == 3 && args[0] == stampWord:
		return true, stamp(args[1], args[2])
	}
	return false, nil
}

func (r *rig) run(only string) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	r.dir = dir
	if r.proxy, err = filepath.Abs(r.proxy); err != nil {
		return err
	}
	if err := r.build(); err != nil {
		return err
	}
	for _, part := range []struct {
		name    string
		measure func() error
	}{{"definition", r.definition}, {"start", r.start}, {"echo", r.echoes}, {"large", r.large}, {"memory", r.memory}, {"spill", r.spilling}, {"read", r.reading}, {"code", r.code}, {"views", r.views}} {
		if only != "" && only != part.name {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring:", part.name)
		if err := part.measure(); err != nil {
			return fmt.Errorf("measure %s: %w", part.name, err)
		}
	}
	return r.print()
}

// build compiles the servers that stand on the other side.
func (r *rig) build() error {
	r.fixture, r.echo = filepath.Join(r.dir, "fixture"), filepath.Join(r.dir, "mcpecho")
	for out, pkg := range map[string]string{r.fixture: "./tests/fixture/cmd/fixture", r.echo: "./tests/fixture/mcpecho"} {
		if b, err := exec.CommandContext(r.ctx, "go", "build", "-o", out, pkg).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, b)
		}
	}
	return nil
}

// most adds a row whose value must not be above the line, least one that must not be below it.
func (r *rig) most(what string, value, line float64, unit, note string) {
	r.rows = append(r.rows, row{what, fmt.Sprintf("≤ %g%s", line, unit), value, unit, value <= line, note})
}

func (r *rig) least(what string, value, line float64, unit, note string) {
	r.rows = append(r.rows, row{what, fmt.Sprintf("≥ %g%s", line, unit), value, unit, value >= line, note})
}

// info adds a row that keeps no line.
func (r *rig) info(what string, value float64, note string) {
	r.rows = append(r.rows, row{what: what, value: value, holds: true, note: note})
}

func (r *rig) print() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tline\tmeasured\t\t")
	for _, x := range r.rows {
		mark := "ok"
		switch {
		case x.line == "":
			mark = ""
		case !x.holds:
			mark = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%s\t%.4g%s\t%s\t%s\n", x.what, x.line, x.value, x.unit, mark, x.note)
	}
	return w.Flush()
}

func median[T int64 | float64](list []T) T {
	s := slices.Clone(list)
	slices.Sort(s)
	return s[len(s)/2]
}
