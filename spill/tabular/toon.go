package tabular

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// TOON writes JSON for models: objects as indented lines `key: value`, a list of records with the same scalar keys as
// a table whose head says how many rows there are and what is in them. Scalars keep their types: a string that could
// be taken for something else stands in quotes. Numbers keep their spelling.

// toon returns valid JSON as TOON, without a line feed at the end.
func toon(b []byte) []byte {
	t := &tooner{b: b}
	i := rawjson.Space(b, 0)
	switch b[i] {
	case '{':
		t.fields(i, 0, false)
	case '[':
		t.list("", i, 0)
	default:
		t.scalar(rawjson.Span{From: i, To: rawjson.Skip(b, i)})
	}
	return bytes.TrimPrefix(t.out, []byte("\n"))
}

type tooner struct {
	b   []byte
	out []byte
}

func (t *tooner) line(depth int) {
	t.out = append(t.out, '\n')
	for range depth {
		t.out = append(t.out, ' ', ' ')
	}
}

// fields writes the members of the object at i; inline says that the first one goes on in the line that was begun.
func (t *tooner) fields(i, depth int, inline bool) {
	for key, value := range rawjson.Spans(t.b, i) {
		if !inline {
			t.line(depth)
		}
		inline = false
		t.member(toonKey(rawjson.Text(key.Of(t.b))), value, depth)
	}
}

// member writes `key: value` at the place where the line stands.
func (t *tooner) member(key string, value rawjson.Span, depth int) {
	switch t.b[value.From] {
	case '[':
		t.list(key, value.From, depth)
	case '{':
		t.out = append(append(t.out, key...), ':')
		t.fields(value.From, depth+1, false)
	default:
		t.out = append(append(t.out, key...), ':', ' ')
		t.scalar(value)
	}
}

// list writes the list at i under its key, "" at the root or in another list.
func (t *tooner) list(key string, i, depth int) {
	items, columns, flat := survey(t.b, i)
	t.out = append(append(t.out, key...), '[')
	t.out = append(strconv.AppendInt(t.out, int64(len(items)), 10), ']')
	switch {
	case columns != nil:
		t.out = append(t.out, '{')
		for n, c := range columns {
			if n > 0 {
				t.out = append(t.out, ',')
			}
			t.out = append(t.out, toonKey([]byte(c))...)
		}
		t.out = append(t.out, '}', ':')
		for _, item := range items {
			t.line(depth + 1)
			t.row(item.From, columns)
		}
	case flat:
		t.out = append(t.out, ':')
		for n, item := range items {
			t.out = append(t.out, ", "[1-min(n, 1):2-min(n, 1)]...)
			t.scalar(item)
		}
	default:
		t.out = append(t.out, ':')
		for _, item := range items {
			t.line(depth + 1)
			t.item(item, depth+1)
		}
	}
}

// item writes one element of a list that is no table.
func (t *tooner) item(item rawjson.Span, depth int) {
	switch t.b[item.From] {
	case '{':
		t.out = append(t.out, '-')
		if t.b[rawjson.Space(t.b, item.From+1)] != '}' {
			t.out = append(t.out, ' ')
			t.fields(item.From, depth+1, true)
		}
	case '[':
		t.out = append(t.out, '-', ' ')
		t.list("", item.From, depth+1)
	default:
		t.out = append(t.out, '-', ' ')
		t.scalar(item)
	}
}

// row writes the values of a record in the order of the columns.
func (t *tooner) row(i int, columns []string) {
	cells := make([]rawjson.Span, len(columns))
	at := 0
	for key, value := range rawjson.Spans(t.b, i) {
		if n := at; n >= len(columns) || !sameText(key.Of(t.b), columns[n]) {
			for at = range columns {
				if sameText(key.Of(t.b), columns[at]) {
					break
				}
			}
		}
		cells[at] = value
		at++
	}
	for n, c := range cells {
		if n > 0 {
			t.out = append(t.out, ',')
		}
		t.scalar(c)
	}
}

// scalar writes a string bare if it can't be taken for anything else.
func (t *tooner) scalar(v rawjson.Span) {
	raw := v.Of(t.b)
	if raw[0] != '"' {
		t.out = append(t.out, raw...)
		return
	}
	text := rawjson.Text(raw)
	if isBare(text) {
		t.out = append(t.out, text...)
		return
	}
	t.out = rawjson.AppendQuote(t.out, string(text))
}

// isBare tells whether a string needs no quotes.
func isBare(s []byte) bool {
	if len(s) == 0 || s[0] == ' ' || s[len(s)-1] == ' ' || s[0] == '-' || isWord(s) || looksNumeric(s) {
		return false
	}
	for _, c := range s {
		if c < 0x20 || c == 0x7f || strings.IndexByte(`:",\[]{}`, c) >= 0 {
			return false
		}
	}
	return true
}

// isWord tells whether a bare text means a value that is no string.
func isWord(s []byte) bool {
	return string(s) == "true" || string(s) == "false" || string(s) == "null"
}

// looksNumeric tells whether a bare text could be read as a number.
func looksNumeric(s []byte) bool {
	c := s[0]
	if (c == '+' || c == '-' || c == '.') && len(s) > 1 {
		c = s[1]
	}
	if c < '0' || c > '9' {
		return false
	}
	for _, c := range s {
		if !(c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-') {
			return false
		}
	}
	return true
}

func toonKey(key []byte) string {
	for i, c := range key {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '.' && (c < '0' || c > '9')) {
			return string(rawjson.AppendQuote(nil, string(key)))
		}
	}
	if len(key) == 0 {
		return `""`
	}
	return string(key)
}

// sameText compares a JSON string with a text.
func sameText(quoted []byte, text string) bool { return string(rawjson.Text(quoted)) == text }

// survey lists the elements of the list at i. columns are the keys, if all elements are records with the same keys and
// scalar values; flat says that all elements are scalars.
func survey(b []byte, i int) (items []rawjson.Span, columns []string, flat bool) {
	flat = true
	table := true
	for _, item := range rawjson.Spans(b, i) {
		items = append(items, item)
		if c := b[item.From]; c == '{' || c == '[' {
			flat = false
		}
		if table {
			columns, table = sameColumns(b, item.From, columns, len(items) == 1)
		}
	}
	if !table || len(columns) == 0 {
		columns = nil
	}
	return items, columns, flat
}

// sameColumns tells whether the value at i is a record with just these keys and scalar values; the first record says
// what the keys are.
func sameColumns(b []byte, i int, columns []string, first bool) ([]string, bool) {
	if b[i] != '{' {
		return nil, false
	}
	n := 0
	for key, value := range rawjson.Spans(b, i) {
		if c := b[value.From]; c == '{' || c == '[' {
			return nil, false
		}
		switch {
		case first:
			columns = append(columns, string(rawjson.Text(key.Of(b))))
		case n >= len(columns) || !sameText(key.Of(b), columns[n]) && !among(key.Of(b), columns):
			return nil, false
		}
		n++
	}
	return columns, n == len(columns)
}

func among(quoted []byte, columns []string) bool {
	for _, c := range columns {
		if sameText(quoted, c) {
			return true
		}
	}
	return false
}
