package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// demoConfig puts the servers of this binary behind the proxy.
const demoConfig = `mcpServers:
  orders:
    builtin: dataset
  files:
    builtin: utils
allowedRoots: [files]
`

// turn is one request of the demo's agent and why it makes it.
type turn struct {
	why, request string
	// plain is what the turn costs an agent that sees the tools themselves.
	plain plainCost
}

// plainCost says what of a turn an agent without the proxy pays for.
type plainCost int

const (
	nothing    plainCost = iota // it has no such turn: everything is in its conversation already
	callAlone                   // the call's arguments and its whole result
	callWithIt                  // the same, and the arguments hold the whole earlier result
)

// demoTurns is the conversation. HANDLE stands for the handle of the latest kept result.
var demoTurns = []turn{
	{"What is there for the question?", `{"action":"search","query":"rows of the orders table; sum a column by group"}`, nothing},
	{"What exactly does the second tool take?", `{"action":"describe","tool":"orders/aggregate_rows"}`, nothing},
	{"Get 6,000 orders. The result has a megabyte: it is kept, and a report comes back.", `{"action":"call","tool":"orders/query_rows","arguments":{"rows":6000}}`, callAlone},
	{"Look for something in it.", `{"action":"readresult","resultFile":"HANDLE","op":"grep","pattern":"Olga Bauer.*refunded","limit":2}`, nothing},
	{"Read one value out of it.", `{"action":"readresult","resultFile":"HANDLE","path":"5999.created"}`, nothing},
	{"Hand all of it to the next tool, without seeing it.", `{"action":"call","tool":"orders/aggregate_rows","arguments":{"rows":{"$from":"HANDLE"},"groupBy":"country","sum":"amount"}}`, callWithIt},
}

func (c *console) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Play one agent conversation and count what it cost",
		Long: `demo starts this program as an agent would, with two servers that live in it, plays a conversation over
stdio, and counts the tokens against what the same work costs an agent that sees the tools themselves.
It needs no configuration, no network and no model.`,
		Example: "  proxy-dispatch demo",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context()) },
	}
}

func (c *console) demo(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "proxy-dispatch-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "proxy-dispatch.yaml")
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(demoConfig), 0o600); err != nil {
		return err
	}
	counter, err := tokens.New("")
	if err != nil {
		return err
	}
	a, err := startAgent(exec.Command(command(), "serve", "--config", file))
	if err != nil {
		return err
	}
	p := &play{console: c, agent: a, counter: counter}
	return failed(p.run(ctx, a.Close))
}

// play is a conversation on its way.
type play struct {
	*console
	agent   *stdioAgent
	counter *tokens.Counter
	handle  string
	kept    int // tokens of the latest kept result, as the plain way would carry it
	bill    []billed
}

// billed is a line of the table: what was paid, and what the plain way would have paid.
type billed struct {
	what        string
	paid, plain int
}

func (p *play) run(ctx context.Context, end func() error) error {
	if err := p.open(ctx); err != nil {
		_ = end()
		return err
	}
	for _, t := range demoTurns {
		if err := p.turn(ctx, t); err != nil {
			_ = end()
			return err
		}
	}
	if err := end(); err != nil {
		return err
	}
	return p.table()
}

// open says hello, lists the one tool, and learns what the tools themselves would cost.
func (p *play) open(ctx context.Context) error {
	hello, err := p.agent.hello(ctx)
	if err != nil {
		return err
	}
	listed, err := p.agent.request(ctx, "tools/list", `{}`)
	if err != nil {
		return err
	}
	var said struct{ Instructions string }
	var tools struct{ Tools []json.RawMessage }
	if json.Unmarshal(hello, &said) != nil || json.Unmarshal(listed, &tools) != nil || len(tools.Tools) != 1 {
		return fmt.Errorf("unexpected answer to tools/list: %s", firstLine(string(listed), 200))
	}
	status, err := p.agent.tool(ctx, `{"action":"status","refresh":true,"format":"json"}`)
	if err != nil {
		return err
	}
	var s struct {
		TotalTools int
		Tokens     struct{ NativeDefinitions int }
	}
	if err := json.Unmarshal([]byte(status.text), &s); err != nil {
		return fmt.Errorf("read the status: %w", err)
	}
	own := p.counter.Count(string(tools.Tools[0])) + p.counter.Count(said.Instructions)
	p.bill = append(p.bill, billed{fmt.Sprintf("tool definitions (1 against %d)", s.TotalTools), own, s.Tokens.NativeDefinitions})
	return p.show("The agent sees one tool; with its instructions it costs %d tokens. Behind it are %d tools of 2 servers.\n", own, s.TotalTools)
}

// turn plays one turn and shows both messages shortly.
func (p *play) turn(ctx context.Context, t turn) error {
	request := strings.ReplaceAll(t.request, "HANDLE", p.handle)
	if err := p.show("%s\n%s %s", p.paint(p.out, bold, t.why), p.paint(p.out, green, "agent →"), request); err != nil {
		return err
	}
	answer, err := p.agent.tool(ctx, request)
	if err != nil {
		return err
	}
	paid := p.counter.Count(request) + p.counter.Count(answer.text)
	if err := p.show("%s %s\n", p.paint(p.out, green, "proxy →"), p.paint(p.out, grey, fmt.Sprintf("(%d tokens)", p.counter.Count(answer.text)))+"\n"+shortly(answer.text)); err != nil {
		return err
	}
	if answer.isError {
		return fmt.Errorf("the demo went wrong: %s", firstLine(answer.text, 200))
	}
	line := billed{what: whatOf(request), paid: paid}
	if t.plain != nothing {
		if line.plain, err = p.plainly(ctx, t, request, answer); err != nil {
			return err
		}
	}
	p.bill = append(p.bill, line)
	if answer.handle != "" {
		p.handle = answer.handle
	}
	return nil
}

// plainly measures a call as an agent without the proxy pays for it: arguments and whole result. The
// call is made once more with its result inline, outside the conversation.
func (p *play) plainly(ctx context.Context, t turn, request string, answer *toolAnswer) (int, error) {
	whole := answer
	if answer.handle != "" {
		var err error
		if whole, err = p.agent.tool(ctx, strings.TrimSuffix(request, "}")+`,"resultSizeThreshold":0}`); err != nil {
			return 0, err
		}
	}
	var r struct{ Arguments json.RawMessage }
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		return 0, err
	}
	result := p.counter.Count(whole.text)
	cost := p.counter.Count(string(r.Arguments)) + result
	if t.plain == callWithIt {
		cost += p.kept
	}
	p.kept = result
	return cost, nil
}

func whatOf(request string) string {
	var r struct{ Action, Op, Tool, Path string }
	_ = json.Unmarshal([]byte(request), &r) // the demo's own text
	return strings.Join(strings.Fields(r.Action+" "+r.Op+" "+r.Tool+" "+r.Path), " ")
}

// shortly shows the head of a text, its lines cut.
func shortly(text string) string {
	const most, width = 8, 160
	lines := strings.Split(strings.TrimSpace(text), "\n")
	more := len(lines) - most
	if more > 0 {
		lines = lines[:most]
	}
	for i := range lines {
		lines[i] = "  " + firstLine(lines[i], width)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("  … %s more", plural(more, "line")))
	}
	return strings.Join(lines, "\n")
}

// table shows what was paid. Every message is counted once; an agent pays for all earlier ones again in
// every turn, which makes the difference larger still.
func (p *play) table() error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "o200k tokens\tproxy-dispatch\tplain tools\t\n")
	var paid, plain int
	for _, b := range p.bill {
		paid, plain = paid+b.paid, plain+b.plain
		dear := "–"
		if b.plain > 0 {
			dear = thousands(b.plain)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t\n", b.what, thousands(b.paid), dear)
	}
	fmt.Fprintf(w, "together\t%s\t%s\t\n", thousands(paid), thousands(plain))
	if err := w.Flush(); err != nil {
		return err
	}
	return p.show("\nThe plain way costs %.0f times as much.", float64(plain)/float64(max(paid, 1)))
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
