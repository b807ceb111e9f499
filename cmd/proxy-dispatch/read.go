package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// readCeiling is how much one reading on the command line may show: people have pagers.
const readCeiling = 64 << 20

func (c *console) readCommand() *cobra.Command {
	var q spill.Query
	cmd := &cobra.Command{
		Use:   "read HANDLE [OP [VALUE …]]",
		Short: "Show a part of a result kept by `call --spill`",
		Long: `read shows what a handle holds. OP is stat (default), head [LINES], tail [LINES], slice FROM TO, bytes OFFSET,
grep PATTERN, read, get PATH, jq PROGRAM, shape, or sample [RECORDS]. HANDLE#2 is content block 2, HANDLE#raw the whole result.`,
		Example: `  proxy-dispatch read r1kq
  proxy-dispatch read r1kq head 20
  proxy-dispatch read r1kq grep 'error|warn' --context 2
  proxy-dispatch read r1kq get items.0.name
  proxy-dispatch read r1kq jq 'map(.amount)|add'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				q.Op = args[1]
				if err := opValues(&q, args[2:]); err != nil {
					return err
				}
			}
			return c.read(cmd.Context(), args[0], q)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Path, "path", "", "narrow the data first, such as items.0.name")
	f.StringVar(&q.JQ, "jq", "", "compute on the data first, such as map(.id)")
	f.StringVar(&q.Format, "format", "", "how a table is shown: csv, toon or json")
	f.IntVar(&q.Lines, "lines", 0, "lines of head and tail (default 50), records of sample")
	f.IntVar(&q.FromLine, "from", 0, "first line of slice, from 1")
	f.IntVar(&q.ToLine, "to", 0, "last line of slice")
	f.StringVar(&q.Pattern, "pattern", "", "what grep looks for, as a regular expression (RE2)")
	f.IntVar(&q.Context, "context", 0, "lines shown around a match")
	f.IntVar(&q.Limit, "limit", 0, "matches shown (default 20)")
	f.BoolVar(&q.Invert, "invert", false, "lines that do not match")
	f.Int64Var(&q.Offset, "offset", 0, "first byte of bytes")
	f.IntVar(&q.MaxBytes, "max-bytes", 0, "most bytes shown")
	c.wantsJSON(cmd)
	return cmd
}

// opValues reads the words after an op, which stand for the flags it needs most.
func opValues(q *spill.Query, values []string) error {
	number := func(i int, to *int) error {
		if i >= len(values) {
			return nil
		}
		n, err := strconv.Atoi(values[i])
		if err != nil {
			return usage("%s: %q is not a number", q.Op, values[i])
		}
		*to = n
		return nil
	}
	most := 1
	var err error
	switch q.Op {
	case "head", "tail", "sample":
		err = number(0, &q.Lines)
	case "slice":
		most = 2
		if err = number(0, &q.FromLine); err == nil {
			err = number(1, &q.ToLine)
		}
	case "bytes":
		most = 2
		offset := int(q.Offset)
		if err = number(0, &offset); err == nil {
			err = number(1, &q.MaxBytes)
		}
		q.Offset = int64(offset)
	case "grep":
		if len(values) > 0 {
			q.Pattern = values[0]
		}
	case "get":
		q.Op = "read"
		if len(values) > 0 {
			q.Path = values[0]
		}
	case "jq":
		q.Op = "read"
		if len(values) > 0 {
			q.JQ = values[0]
		}
	default:
		most = 0
	}
	if err == nil && len(values) > most {
		err = usage("%s takes no more than %s", q.Op, plural(most, "value"))
	}
	return err
}

func (c *console) read(ctx context.Context, handle string, q spill.Query) error {
	if q.Op == "" {
		q.Op = "stat"
		switch {
		case q.Pattern != "":
			q.Op = "grep"
		case q.FromLine > 0 || q.ToLine > 0:
			q.Op = "slice"
		case q.Lines > 0:
			q.Op = "head"
		case q.Path != "" || q.JQ != "":
			q.Op = "read"
		}
	}
	if q.MaxBytes == 0 && q.Op != "bytes" {
		q.MaxBytes = readCeiling
	}
	p, err := c.forCommand(ctx, wiring{keep: true, ceiling: readCeiling})
	if err != nil {
		return err
	}
	defer p.Close()
	answer, err := p.dispatcher.ReadResult(ctx, me, dispatch.ReadRequest{Files: []string{handle}, Query: q})
	if err != nil {
		return c.refused(err)
	}
	if c.json {
		return c.showJSON(answer)
	}
	text := answer.Text
	if answer.Block != nil {
		text, _ = blockText(answer.Block)
	}
	return c.show("%s", strings.TrimRight(text, "\n"))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
