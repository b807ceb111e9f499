package config

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/variable"
)

// decoder turns the nodes of one file into a Config.
type decoder struct {
	*problems
	env    Env
	dir    string // that relative paths are relative to
	client bool   // unknown keys are ignored and named, not refused
	// blockOnly is set for a client's file, of which only the server block is read.
	blockOnly bool
	out       *Config
	asked     *asked // nil but for Schema
	// unset gathers missing variables while a server is decoded; nil elsewhere, where they are
	// problems of the file.
	unset   *[]string
	raw     bool // texts are taken as they stand
	exposed int  // the line of expose
	lost    bool // the text expanded last lacked a variable; what is wrong with it may be only that
	// ignored gathers what goes into Config.Ignored.
	ignored Errors
}

func newDecoder(path string, env Env, p *problems) *decoder {
	return &decoder{problems: p, env: env, dir: filepath.Dir(path), out: &Config{Path: path}}
}

// finish returns the configuration, or everything that is wrong with it.
func (d *decoder) finish() (*Config, error) {
	if err := d.err(); err != nil {
		r := d.out.Redactor()
		for _, e := range d.list {
			e.Msg = r.Redact(e.Msg)
		}
		return nil, err
	}
	slices.SortStableFunc(d.ignored, func(a, b *Error) int { return a.Line - b.Line })
	for _, e := range d.ignored {
		d.out.Ignored = append(d.out.Ignored, e.Error())
	}
	return d.out, nil
}

// fields reads the keys of one mapping; asking for a key makes it a known one.
type fields struct {
	*decoder
	where string // dotted path with a final dot, "" at the top
	node  *notation.Node
	known []string
	// tolerated keys are neither unknown nor offered as the nearest spelling.
	tolerated []string
}

// mapping starts reading n; anything but a mapping is reported and reads as an empty one.
func (d *decoder) mapping(n *notation.Node, where string) *fields {
	d.asked.part(where)
	if n != nil && n.Kind != notation.Mapping && n.Kind != notation.Null {
		d.add(n.Line, "%s must be a mapping, not %s", strings.TrimSuffix(where, "."), n.Kind)
		n = nil
	}
	return &fields{decoder: d, where: where, node: n}
}

// take returns the value of the first of the given spellings that is there. The first spelling is
// the one offered when a key is misspelt.
func (f *fields) take(keys ...string) (string, *notation.Node) {
	f.known = append(f.known, keys...)
	f.asked.note(f.where, keys, "")
	found, value := keys[0], (*notation.Node)(nil)
	for _, key := range keys {
		v := f.node.Get(key)
		if v == nil || v.Kind == notation.Null {
			continue
		}
		if value != nil {
			f.add(v.Line, "both %s%s and %s%s are given", f.where, found, f.where, key)
			continue
		}
		found, value = key, v
	}
	return found, value
}

// done reports the keys that nobody asked for.
func (f *fields) done() {
	if f.node == nil {
		return
	}
	for _, m := range f.node.Members {
		if slices.Contains(f.known, m.Key) || slices.Contains(f.tolerated, m.Key) {
			continue
		}
		if f.client {
			f.ignore(m.Line, f.where+m.Key, "not ours")
			continue
		}
		f.near(m.Line, m.Key, f.known, "unknown key %q%s", m.Key, inside(f.where))
	}
}

func inside(where string) string {
	if where == "" {
		return ""
	}
	return " in " + strings.TrimSuffix(where, ".")
}

func (d *decoder) ignore(line int, key, why string) {
	d.ignored = append(d.ignored, &Error{File: d.file, Line: line, Msg: key + ": ignored, " + why})
}

// expanded returns the text of a scalar with its variables replaced. What they stood for is secret.
func (d *decoder) expanded(n *notation.Node) string {
	d.lost = false
	if d.raw {
		return n.Text
	}
	e := variable.Expand(n.Text, d.env)
	d.lost = len(e.Missing) > 0
	for _, v := range e.Values {
		d.out.secrets.Add(v)
	}
	for _, name := range e.Missing {
		if d.unset == nil {
			d.add(n.Line, "%s not set", name)
			continue
		}
		at := Error{File: d.file, Line: n.Line}
		missing := name + " not set (" + strings.TrimSuffix(at.Error(), ": ") + ")"
		if !slices.Contains(*d.unset, missing) {
			*d.unset = append(*d.unset, missing)
		}
	}
	return e.Text
}

// scalar returns the expanded text of any scalar: an argument may be written 8080 as well as "8080".
func (d *decoder) scalar(n *notation.Node, what string) string {
	switch n.Kind {
	case notation.Text, notation.Number, notation.Bool:
		return d.expanded(n)
	}
	d.add(n.Line, "%s must be text, not %s", what, n.Kind)
	return ""
}

func (f *fields) text(keys ...string) string {
	f.asked.note(f.where, keys, "text")
	key, n := f.take(keys...)
	if n == nil {
		return ""
	}
	if n.Kind != notation.Text {
		f.add(n.Line, "%s%s must be text, not %s", f.where, key, n.Kind)
		return ""
	}
	s := f.expanded(n)
	if strings.ContainsRune(s, 0) {
		f.add(n.Line, "%s%s holds a NUL byte", f.where, key)
		return ""
	}
	return s
}

// texts reads a list of texts; a single text is a list of one.
func (f *fields) texts(keys ...string) []string {
	f.asked.note(f.where, keys, "texts")
	key, n := f.take(keys...)
	if n == nil {
		return nil
	}
	items := n.Items
	switch n.Kind {
	case notation.Text:
		items = []*notation.Node{n}
	case notation.List:
	default:
		f.add(n.Line, "%s%s must be a list of texts, not %s", f.where, key, n.Kind)
	}
	var out []string
	for i, item := range items {
		out = append(out, f.scalar(item, f.where+key+"["+strconv.Itoa(i)+"]"))
	}
	return out
}

// literal and literals read texts in which nothing is replaced, because agents see them.
func (f *fields) literal(key string) string {
	var out string
	f.verbatim(func() { out = f.text(key) })
	return out
}

func (f *fields) literals(key string) []string {
	var out []string
	f.verbatim(func() { out = f.texts(key) })
	return out
}

func (d *decoder) verbatim(read func()) {
	d.raw = true
	read()
	d.raw = false
}

func (f *fields) bool(keys ...string) bool {
	f.asked.note(f.where, keys, "bool")
	key, n := f.take(keys...)
	if n == nil {
		return false
	}
	if n.Kind == notation.Bool || n.Kind == notation.Text {
		switch text := f.expanded(n); {
		case text == "true" || text == "false":
			return text == "true"
		case f.lost:
			return false
		}
	}
	f.add(n.Line, "%s%s must be true or false, not %s", f.where, key, shown(n))
	return false
}

// shown describes a value in an error: small scalars as written, the rest by kind.
func shown(n *notation.Node) string {
	if (n.Kind == notation.Text || n.Kind == notation.Number) && len(n.Text) <= 24 {
		return strconv.Quote(n.Text)
	}
	return string(n.Kind)
}

func (f *fields) enum(key string, values ...string) string {
	f.asked.note(f.where, []string{key}, "enum", values...)
	_, n := f.take(key)
	if n == nil {
		return ""
	}
	text := f.scalar(n, f.where+key)
	if slices.Contains(values, text) || n.Kind == notation.Mapping || n.Kind == notation.List || f.lost {
		return text
	}
	f.near(n.Line, text, values, "%s%s must be one of %s, not %s", f.where, key, strings.Join(values, ", "), shown(n))
	return ""
}

var byteUnits = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1000}, {"MB", 1000_000}, {"GB", 1000_000_000}, {"B", 1}, {"", 1}}

// number reads a count or a size in bytes within [low, high]; nil if absent or wrong.
func (f *fields) number(key string, low, high int64) *int64 {
	f.asked.note(f.where, []string{key}, "number")
	_, n := f.take(key)
	if n == nil {
		return nil
	}
	text := f.scalar(n, f.where+key)
	if n.Kind == notation.Mapping || n.Kind == notation.List || f.lost {
		return nil
	}
	v, ok := parseSize(text)
	if !ok {
		f.add(n.Line, "%s%s must be a whole number, not %s", f.where, key, shown(n))
		return nil
	}
	if v < low || v > high {
		f.add(n.Line, "%s%s must be between %d and %d", f.where, key, low, high)
		return nil
	}
	return &v
}

// count is number for keys whose zero value means the default.
func (f *fields) count(key string, low, high int64) int64 {
	if v := f.number(key, low, high); v != nil {
		return *v
	}
	return 0
}

func parseSize(text string) (int64, bool) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "_", "")
	for _, u := range byteUnits {
		digits, found := strings.CutSuffix(text, u.suffix)
		if !found {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || v > math.MaxInt64/u.factor {
			return 0, false
		}
		return v * u.factor, true
	}
	return 0, false
}

const maxDuration = 365 * 24 * time.Hour

// duration reads `30s` or a number of milliseconds; it must be positive.
func (f *fields) duration(key string) time.Duration {
	f.asked.note(f.where, []string{key}, "duration")
	_, n := f.take(key)
	if n == nil {
		return 0
	}
	text := f.scalar(n, f.where+key)
	if n.Kind == notation.Mapping || n.Kind == notation.List || f.lost {
		return 0
	}
	d, ok := parseDuration(text)
	if !ok {
		f.add(n.Line, "%s%s must be a duration like 30s or a number of milliseconds, not %s", f.where, key, shown(n))
		return 0
	}
	if d <= 0 || d > maxDuration {
		f.add(n.Line, "%s%s must be more than 0 and at most a year", f.where, key)
		return 0
	}
	return d
}

func parseDuration(text string) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(ms) || math.Abs(ms) > float64(math.MaxInt64/time.Millisecond/2) {
			return 0, false
		}
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// globs reads patterns and checks them.
func (f *fields) globs(keys ...string) []string {
	f.asked.note(f.where, keys, "texts")
	key, n := f.take(keys...)
	if n == nil {
		return nil
	}
	out := f.texts(key)
	for _, g := range out {
		if g == "" {
			f.add(n.Line, "%s%s holds an empty pattern", f.where, key)
		} else if _, err := glob.Compile(g); err != nil {
			f.add(n.Line, "%s%s: bad pattern %q: %v", f.where, key, g, err)
		}
	}
	return out
}

// path reads the name of a file or folder and makes it absolute.
func (f *fields) path(keys ...string) string { return f.absolute(f.text(keys...)) }

func (d *decoder) absolute(path string) string {
	if path == "" {
		return ""
	}
	if rest, found := strings.CutPrefix(path, "~/"); found || path == "~" {
		if home, ok := HomeDir(d.env); ok {
			return filepath.Join(home, strings.TrimPrefix(rest, "~"))
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.dir, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}
