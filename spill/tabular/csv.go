// Package tabular writes JSON as CSV and TOON, which are for tables: they name the keys once.
package tabular

import (
	"bytes"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
)

const (
	maxColumns = 1000 // of a table
	// MaxCompare is up to how many bytes of data Smallest is worth asking.
	MaxCompare = 1 << 20
)

// A grid is a table taken apart: the cells as they stand in JSON, nil where a record lacks the key.
type grid struct {
	columns []string // nil: rows of lists
	rows    [][][]byte
	flat    bool // all cells are scalars
	plain   bool // no cell could be taken for another one when types are not shown
}

// gridOf takes a list of records, lists or scalars, or a single record, apart. ok is false for other data.
func gridOf(b []byte) (g grid, ok bool) {
	i := rawjson.Space(b, 0)
	g.flat, g.plain = true, true
	known := map[string]int{}
	switch b[i] {
	case '{':
		return g, g.record(b, i, known)
	case '[':
	default:
		return g, false
	}
	kind := byte(0)
	for _, item := range rawjson.Spans(b, i) {
		c := b[item.From]
		if c != '{' && c != '[' {
			c = 's'
		}
		if kind == 0 {
			kind = c
		}
		if c != kind {
			return g, false
		}
		switch c {
		case '{':
			if !g.record(b, item.From, known) {
				return g, false
			}
		case '[':
			var row [][]byte
			for _, cell := range rawjson.Spans(b, item.From) {
				row = append(row, g.cell(cell.Of(b)))
			}
			g.rows = append(g.rows, row)
		default:
			g.columns = []string{"value"}
			g.rows = append(g.rows, [][]byte{g.cell(item.Of(b))})
		}
	}
	return g, true
}

func (g *grid) record(b []byte, i int, known map[string]int) bool {
	row := make([][]byte, len(g.columns))
	at := -1
	for key, value := range rawjson.Spans(b, i) {
		name := rawjson.Text(key.Of(b))
		if at++; at >= len(g.columns) || g.columns[at] != string(name) { // mostly the keys come in the same order
			n, ok := known[string(name)]
			if !ok {
				if n = len(g.columns); n == maxColumns {
					return false
				}
				known[string(name)] = n
				g.columns = append(g.columns, string(name))
			}
			at = n
		}
		for len(row) <= at {
			row = append(row, nil)
		}
		row[at] = g.cell(value.Of(b))
	}
	g.rows = append(g.rows, row)
	return true
}

// cell notes what a cell says of the table.
func (g *grid) cell(raw []byte) []byte {
	switch raw[0] {
	case '{', '[':
		g.flat = false
		return rawjson.Compact(raw)
	case 'n':
		g.plain = false
	case '"':
		if text := rawjson.Text(raw); len(text) == 0 || isWord(text) || looksNumeric(text) {
			g.plain = false
		}
	}
	return raw
}

// csv writes the table with a head line; a cell that holds a list or object holds its JSON, null is empty.
func (g grid) csv() []byte {
	var out []byte
	for i, c := range g.columns {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendCell(out, []byte(c))
	}
	for n, row := range g.rows {
		if n > 0 || g.columns != nil {
			out = append(out, '\n')
		}
		for i := range max(len(row), len(g.columns)) {
			if i > 0 {
				out = append(out, ',')
			}
			if i >= len(row) || row[i] == nil || row[i][0] == 'n' {
				continue
			}
			cell := row[i]
			if cell[0] == '"' {
				cell = rawjson.Text(cell)
			}
			out = appendCell(out, cell)
		}
	}
	return out
}

// appendCell puts quotes around a cell that needs them.
func appendCell(out, cell []byte) []byte {
	if !bytes.ContainsAny(cell, ",\"\n\r") && (len(cell) == 0 || cell[0] != ' ' && cell[len(cell)-1] != ' ') {
		return append(out, cell...)
	}
	out = append(out, '"')
	out = append(out, bytes.ReplaceAll(cell, []byte(`"`), []byte(`""`))...)
	return append(out, '"')
}

// Write returns JSON as csv or toon, and how many rows it has.
func Write(data []byte, form string) (text []byte, rows int, err error) {
	g, ok := gridOf(data)
	if form == "toon" {
		return toon(data), len(g.rows), nil
	}
	if !ok {
		return nil, 0, fmt.Errorf("%w: csv: the data is neither a list of records, of lists or of single values, nor a record; narrow it with path or jq", fault.ErrBadQuery)
	}
	return g.csv(), len(g.rows), nil
}

// Smallest returns a flat table of at least two rows in the form that is at least 15 % smaller than compact JSON, ""
// if there is none. CSV is only taken where nothing is lost by not showing types.
func Smallest(data []byte) (form string, text []byte, rows int) {
	i := rawjson.Space(data, 0)
	if first := rawjson.Space(data, i+1); data[i] != '[' || data[first] != '{' {
		return "", nil, 0
	}
	g, ok := gridOf(data)
	if !ok || !g.flat || len(g.rows) < 2 {
		return "", nil, 0
	}
	best := len(rawjson.Compact(data)) * 85 / 100
	try := func(name string, t []byte) {
		if len(t) <= best {
			form, text, rows, best = name, t, len(g.rows), len(t)-1
		}
	}
	if g.plain {
		try("csv", g.csv())
	}
	if _, columns, _ := survey(data, i); columns != nil {
		try("toon", toon(data))
	}
	return form, text, rows
}
