package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/server"
)

// DatasetOptions sets up Dataset.
type DatasetOptions struct {
	Rows     int64  // rows of the table; default 5,000,000
	Seed     uint64 // another seed is another table; the same seed is always the same table
	MaxBytes int64  // most bytes of one result; default 512 MiB
}

// Dataset returns a server with a table of orders made up from a seed: row N
// is computed, never stored, so the table may have any size. Tools:
// describe_table, query_rows, aggregate_rows, log_lines.
func Dataset(o DatasetOptions) (*server.MCPServer, error) {
	if o.Rows < 0 {
		return nil, fmt.Errorf("dataset with %d rows", o.Rows)
	}
	if o.Rows == 0 {
		o.Rows = 5_000_000
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 512 << 20
	}
	t := &table{rows: o.Rows, seed: o.Seed, max: o.MaxBytes}
	return newServer("dataset", "Example orders", datasetInstructions, []tool{
		{
			name: "describe_table", title: "Describe the table", readOnly: true,
			description: "Describe the orders table: number of rows, columns, their types and values.",
			input:       emptySchema, output: describeOutput, run: t.describe,
		}, {
			name: "query_rows", title: "Query orders", readOnly: true,
			description: "Get rows of the orders table as a JSON array of records, ordered by id. 6,000 rows are about 1 MB.",
			input:       queryRowsSchema, run: t.query,
		}, {
			name: "aggregate_rows", title: "Aggregate rows", readOnly: true,
			description: "Count rows and sum a column, in total and by group. Works on any array of records given in `rows`.",
			input:       aggregateSchema, output: aggregateOutput, run: aggregate,
		}, {
			name: "log_lines", title: "Application log", readOnly: true,
			description: "Get lines of the shop's application log as plain text, one event a line.",
			input:       logSchema, run: t.log,
		},
	}), nil
}

const datasetInstructions = "Made-up orders of a shop and its application log, to try things out: the same rows every time, as many as wanted. query_rows gives records, aggregate_rows sums the records it is given."

// table computes its rows.
type table struct {
	rows int64
	seed uint64
	max  int64
}

type column struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Values      []string `json:"values,omitempty"`
}

var columns = []column{
	{"id", "integer", "Number of the order, from 1", nil},
	{"customer", "string", "Name of the customer", nil},
	{"country", "string", "Country of the customer, ISO 3166", countries},
	{"amount", "number", "Amount in EUR, two decimals", nil},
	{"items", "integer", "Number of items", nil},
	{"status", "string", "State of the order", statuses},
	{"created", "string", "When it was placed, RFC 3339, rising with id", nil},
	{"email", "string", "Address of the customer", nil},
	{"note", "string", "Free text, empty for most", nil},
}

type describeAnswer struct {
	Table   string   `json:"table"`
	Rows    int64    `json:"rows"`
	Columns []column `json:"columns"`
}

func (t *table) describe(_ context.Context, raw json.RawMessage) (any, error) {
	if _, err := read[struct{}](raw); err != nil {
		return nil, err
	}
	return describeAnswer{"orders", t.rows, columns}, nil
}

type queryRowsArgs struct {
	Rows    *int64
	Offset  int64
	Columns []string
	Filter  filter
}

type filter struct {
	Country, Status, Customer string
	MinAmount, MaxAmount      *float64
	From, To                  string
}

func (t *table) query(ctx context.Context, raw json.RawMessage) (any, error) {
	args, err := read[queryRowsArgs](raw)
	if err != nil {
		return nil, err
	}
	want, err := wanted("rows", args.Rows, 100, args.Offset)
	if err != nil {
		return nil, err
	}
	show, err := chosen(args.Columns)
	if err != nil {
		return nil, err
	}
	keep, err := args.Filter.compile()
	if err != nil {
		return nil, err
	}
	out := newText(want, 170, t.max)
	out.add("[")
	first, skip := int64(1), args.Offset
	if args.Filter == (filter{}) { // the rows before need no look
		first, skip = 1+min(skip, t.rows), 0
	}
	for id := first; id <= t.rows && want > 0; id++ {
		if id%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		o := t.order(id)
		if !keep(&o) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if len(out.b) > 1 {
			out.add(",")
		}
		out.b = o.append(out.b, show)
		if err := out.full(); err != nil {
			return nil, err
		}
		want--
	}
	out.add("]")
	return string(out.b), nil
}

// wanted checks a number of rows or lines and an offset.
func wanted(name string, n *int64, def, offset int64) (int64, error) {
	if offset < 0 {
		return 0, fmt.Errorf("offset %d is below 0", offset)
	}
	if n == nil {
		return def, nil
	}
	if *n < 0 {
		return 0, fmt.Errorf("%s %d is below 0", name, *n)
	}
	return *n, nil
}

func chosen(names []string) ([]bool, error) {
	show := make([]bool, len(columns))
	for i := range show {
		show[i] = len(names) == 0
	}
	for _, n := range names {
		i := slices.IndexFunc(columns, func(c column) bool { return c.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("column %q is unknown: %s", n, columnNames())
		}
		show[i] = true
	}
	return show, nil
}

func columnNames() string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// text is a result growing up to a limit.
type text struct {
	b   []byte
	max int64
}

func newText(items, each, limit int64) *text {
	room := limit
	if items < limit/each {
		room = items * each
	}
	return &text{b: make([]byte, 0, min(room, 64<<20)), max: limit}
}

func (t *text) add(s string) { t.b = append(t.b, s...) }

func (t *text) full() error {
	if int64(len(t.b)) > t.max {
		return fmt.Errorf("the result would exceed %d bytes: ask for less, and use offset", t.max)
	}
	return nil
}
