package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/signature"
	"github.com/proxy-dispatch/proxy-dispatch/search"
	"github.com/proxy-dispatch/proxy-dispatch/search/eval"
)

// evaluation is what the eval command was asked for.
type evaluation struct {
	catalog, queries, ranked, compare string
	without                           []string
	repeat                            int
}

func (c *console) evalCommand() *cobra.Command {
	var e evaluation
	cmd := &cobra.Command{
		Use:   "eval --catalog FILE --queries FILE",
		Short: "Measure how well search finds tools",
		Long: `eval builds the search index of a catalog, asks it labelled queries one at a time, and prints how well it did:
recall, hit rate, MRR and nDCG@5 by category, the time of a query, and the time and memory of the index.

The ranking is that of a proxy without configuration; with --config, that configuration's lexicon and embeddings count too.

A catalog is what ` + "`tools --json`" + ` prints. A file of queries holds one JSON object a line:
{"id": "1", "query": "send a message", "category": "task", "relevant": [{"server": "mail", "name": "send_message"}]}`,
		Example: `  proxy-dispatch tools --json > catalog.json
  proxy-dispatch eval --catalog catalog.json --queries queries.jsonl --ranked before.jsonl
  proxy-dispatch eval --catalog catalog.json --queries queries.jsonl --compare before.jsonl
  proxy-dispatch eval --catalog catalog.json --queries queries.jsonl --without lexicon,typos`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e.catalog == "" || e.queries == "" {
				return usage("--catalog and --queries are required\nUsage: %s", cmd.UseLine())
			}
			return c.eval(cmd.Context(), e)
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.catalog, "catalog", "", "file with the tools")
	f.StringVar(&e.queries, "queries", "", "file with the labelled queries")
	f.StringVar(&e.ranked, "ranked", "", "write the hits of every query to this file")
	f.StringVar(&e.compare, "compare", "", "tell which queries got better or worse than in this file of hits")
	f.StringSliceVar(&e.without, "without", nil, "leave parts of the ranking out: "+strings.Join(search.Parts(), ", "))
	f.IntVar(&e.repeat, "repeat", 1, "ask everything this often; the best time of each query counts")
	c.wantsJSON(cmd)
	return cmd
}

// evaluated is what eval prints for programs.
type evaluated struct {
	eval.Report
	Compared *eval.Comparison `json:"compared,omitempty"`
}

func (c *console) eval(ctx context.Context, e evaluation) error {
	tools, err := readWith(e.catalog, eval.ReadCatalog)
	if err != nil {
		return err
	}
	queries, err := readWith(e.queries, eval.ReadQueries)
	if err != nil {
		return err
	}
	old := []eval.Ranking(nil)
	if e.compare != "" {
		if old, err = readWith(e.compare, eval.ReadRanked); err != nil {
			return err
		}
	}
	ranking, err := c.evalRanking(e)
	if err != nil {
		return err
	}
	x, cost, err := buildIndex(tools, ranking)
	if err != nil {
		return usage("%w", err)
	}
	defer x.Close() // nothing is lost with it
	if err := x.Learned(ctx); err != nil {
		c.say("ranked by words alone: %v", err)
	}
	outcomes, err := eval.Run(ctx, tools, eval.Options{Search: x, Queries: queries, Repeat: e.repeat})
	if err != nil {
		return err
	}
	if e.ranked != "" {
		if err := writeWith(e.ranked, func(w io.Writer) error { return eval.WriteRanked(w, outcomes) }); err != nil {
			return err
		}
	}
	out := evaluated{Report: eval.Sum(outcomes)}
	out.Index = &cost
	if e.compare != "" {
		compared := eval.Compare(old, outcomes)
		out.Compared = &compared
	}
	return c.showEvaluated(out)
}

// evalRanking is the ranking to measure.
func (c *console) evalRanking(e evaluation) (search.Options, error) {
	if c.configPath == "" {
		return search.Options{Without: e.without}, nil
	}
	cfg, err := c.load()
	if err != nil {
		return search.Options{}, err
	}
	cache, err := cacheDir(cfg)
	if err != nil {
		c.say("no cache folder: vectors are not kept: %v", err)
	}
	o, err := rankingOf(cfg, cache)
	if err != nil {
		return o, usage("%w", err)
	}
	o.Without = e.without
	return o, nil
}

func (c *console) showEvaluated(out evaluated) error {
	if c.json {
		return c.showJSON(out)
	}
	var b strings.Builder
	if err := out.Text(&b); err != nil {
		return err
	}
	if out.Compared != nil {
		if err := out.Compared.Text(&b, 30); err != nil {
			return err
		}
	}
	return c.show("%s", strings.TrimRight(b.String(), "\n"))
}

// buildIndex indexes tools as the proxy would, and measures what that costs.
func buildIndex(tools []eval.Tool, o search.Options) (*search.Index, eval.Index, error) {
	docs := make([]search.Doc, len(tools))
	for i, t := range tools {
		docs[i] = search.Doc{ID: t.ID(), Kind: "tool", Server: t.Server, Name: t.Name, Title: t.Title, Description: t.Description}
		for _, p := range signature.Params(t.InputSchema) {
			docs[i].Params = append(docs[i].Params, search.Param{Name: p.Name, Description: p.Description, Enum: p.Enum})
		}
	}
	before := heap()
	start := time.Now()
	x, err := o.Build(docs)
	took := time.Since(start)
	if err != nil {
		return nil, eval.Index{}, err
	}
	after := heap()
	runtime.KeepAlive(docs)
	return x, eval.Index{Documents: len(docs), BuildMS: float64(took.Microseconds()) / 1000, Bytes: max(0, after-before)}, nil
}

// heap is what lives on the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools held goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func readWith[T any](file string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	f, err := os.Open(file)
	if err != nil {
		return none, usage("%w", err)
	}
	defer f.Close()
	v, err := read(f)
	if err != nil {
		return none, usage("%s: %w", file, err)
	}
	return v, nil
}

func writeWith(file string, write func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error is the one that matters
		return err
	}
	return f.Close()
}
