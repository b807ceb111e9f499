package spill

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
	"github.com/proxy-dispatch/proxy-dispatch/spill/jq"
	"github.com/proxy-dispatch/proxy-dispatch/spill/layout"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
)

const (
	maxPathQuery = 1000      // bytes of a path
	maxNarrow    = 256 << 20 // bytes of the data a path or jq is applied to
	maxJoined    = 20        // items read as one list
	maxNarrowed  = 512 << 20 // bytes a path with modifiers could make of it
)

// Item is a part of an artifact.
type Item struct {
	Artifact *Artifact
	Part     Part
}

// Want says what of the data is wanted, and in which form.
type Want struct {
	Path string // narrows the data first
	JQ   string // jq filter, works on what path leaves: one output is the value, several are a list, none is ErrNoMatch
	As   string // one of Forms; default the JSON as it is
}

// Value returns a part of an artifact as one JSON value without line feeds: a text as a string, a blob as
// a string of base64, JSON as it was sent but for white space; narrowed by path, "" for all. What has
// more than 64 MiB is ErrTooLarge. The result belongs to the caller.
func (s *Shelf) Value(ctx context.Context, a *Artifact, p Part, path string) (json.RawMessage, error) {
	return s.Extract(ctx, []Item{{a, p}}, Want{Path: path})
}

// Extract is Value of what path and jq leave of the data, of several items of the list of their data. A path that leads
// nowhere in the list is taken for one into each of them.
func (s *Shelf) Extract(ctx context.Context, items []Item, w Want) (json.RawMessage, error) {
	done, err := s.enterNarrow(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	v, err := s.open(ctx, items, w)
	if err != nil {
		return nil, err
	}
	defer v.close()
	if w.As != "" {
		return s.formed(ctx, v, items, w)
	}
	data, err := v.all(maxValue)
	if err != nil {
		return nil, err
	}
	return v.value(data)
}

// value is the data of a view as JSON without line feeds.
func (v *view) value(data []byte) (json.RawMessage, error) {
	switch {
	case v.JSON:
		return rawjson.Compact(data), nil
	case v.Binary:
		out := append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+2), '"')
		return append(base64.StdEncoding.AppendEncode(out, data), '"'), nil
	}
	return quoted(data)
}

// open returns a view of what is wanted. Close it after use.
func (s *Shelf) open(ctx context.Context, items []Item, w Want) (*view, error) {
	v, err := s.joined(ctx, items, w.Path)
	if err != nil {
		return nil, err
	}
	if w.Path != "" && len(items) == 1 {
		if v, err = then(v, func() (*view, error) { return narrowed(v, w.Path) }); err != nil {
			return nil, err
		}
	}
	if w.JQ != "" {
		return then(v, func() (*view, error) { return s.computed(ctx, v, w.JQ) })
	}
	return v, nil
}

// then closes a view that another one takes the place of.
func then(v *view, next func() (*view, error)) (*view, error) {
	defer v.close()
	return next()
}

// joined opens one item, or the list of the data of several, narrowed by path.
func (s *Shelf) joined(ctx context.Context, items []Item, path string) (*view, error) {
	if len(items) == 1 {
		return s.view(ctx, items[0].Artifact, items[0].Part)
	}
	if len(items) == 0 || len(items) > maxJoined {
		return nil, fmt.Errorf("%w: %d results at once, 1 to %d are read", ErrBadQuery, len(items), maxJoined)
	}
	list, err := s.list(ctx, items, "")
	if err != nil || path == "" {
		return list, err
	}
	found, err := narrowed(list, path)
	if errors.Is(err, ErrNoMatch) {
		if each, failed := s.list(ctx, items, path); failed == nil {
			return each, nil
		}
	}
	return found, err
}

// list makes one list of the data of several items.
func (s *Shelf) list(ctx context.Context, items []Item, path string) (*view, error) {
	out := []byte{'['}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		v, err := s.open(ctx, []Item{item}, Want{Path: path})
		if err != nil {
			return nil, err
		}
		data, err := v.all(int64(maxNarrow - len(out)))
		if err == nil {
			data, err = v.value(data)
		}
		v.close()
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", item.Artifact.Handle, item.Part, err)
		}
		out = append(out, data...)
	}
	return foundView(append(out, ']')), nil
}

// computed returns the view of what a jq program makes of a view: a text is a string to it.
func (s *Shelf) computed(ctx context.Context, v *view, source string) (*view, error) {
	if v.Binary {
		return nil, fmt.Errorf("%w: jq: the data is %s", ErrBadQuery, v.MimeType)
	}
	found, err := jq.Run(ctx, source, func() (string, error) {
		data, err := v.text(maxNarrow)
		if err != nil {
			return "", fmt.Errorf("jq: %w", err)
		}
		if v.JSON {
			return data, nil
		}
		quoted, err := quoted([]byte(data))
		return string(quoted), err
	}, jq.Options{Time: s.o.JQTime, Size: maxNarrow})
	if err != nil {
		return nil, err
	}
	return foundView(found), nil
}

// quoted is a text as a JSON string.
func quoted(text []byte) (json.RawMessage, error) {
	var out bytes.Buffer
	out.Grow(len(text) + len(text)/8 + 2)
	out.WriteByte('"')
	err := piece{Quote: layout.Short}.write(&out, bytes.NewReader(bytes.ToValidUTF8(text, []byte("�"))))
	out.WriteByte('"')
	return out.Bytes(), err
}

// enterNarrow waits until this call may hold a whole payload in memory.
func (s *Shelf) enterNarrow(ctx context.Context) (done func(), err error) {
	select {
	case s.narrow <- struct{}{}:
		return func() { <-s.narrow }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// narrowed returns the view of what a path leaves.
func narrowed(v *view, path string) (*view, error) {
	found, err := lookUpPath(v, path)
	if err != nil {
		return nil, err
	}
	return foundView(found), nil
}

// lookUpPath returns the JSON a path leads to.
func lookUpPath(v *view, path string) ([]byte, error) {
	if !v.JSON {
		return nil, fmt.Errorf("%w: path: the data is %s, not JSON; use op grep, slice or bytes", ErrBadQuery, v.MimeType)
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	limit := int64(maxNarrow)
	for range expansions(path) {
		limit = min(limit, maxNarrowed) / 8
	}
	data, err := v.all(limit)
	if err != nil {
		return nil, fmt.Errorf("path %.80q: %w", path, err)
	}
	for _, form := range pathForms(path) {
		r := gjson.GetBytes(data, form)
		if r.Exists() && rawjson.Valid([]byte(r.Raw)) {
			return bytes.TrimSpace([]byte(r.Raw)), nil
		}
	}
	return nil, noMatch(data, path)
}

func noMatch(data []byte, path string) error {
	i := rawjson.Space(data, 0)
	hint := ""
	switch data[i] {
	case '{':
		var names []string
		for name := range rawjson.Spans(data, i) {
			if len(names) == 10 {
				names = append(names, "…")
				break
			}
			names = append(names, brief.Clip(string(rawjson.Text(name.Of(data))), shape.MaxKey))
		}
		hint = "; keys: " + strings.Join(names, ", ")
	case '[':
		hint = "; the data is a list: #.KEY takes a key of each element, 0 the first element"
	}
	return fmt.Errorf("path %.80q: %w%s", path, ErrNoMatch, hint)
}

var (
	modifier  = regexp.MustCompile(`@([a-z]+)`)
	modifiers = map[string]bool{ // how often one may be used is bounded by expansions
		"this": true, "reverse": true, "ugly": true, "valid": true, "keys": true, "values": true,
		"flatten": true, "join": true, "tostr": true, "fromstr": true, "group": true,
	}
	bracket = regexp.MustCompile(`\[(?:(-?\d+)|"([^"]*)"|'([^']*)')\]`)
)

// checkPath refuses paths that are too long or could make much more of the data than there is.
func checkPath(path string) error {
	if len(path) > maxPathQuery {
		return fmt.Errorf("%w: path: %d bytes, at most %d", ErrBadQuery, len(path), maxPathQuery)
	}
	for _, m := range modifier.FindAllStringSubmatchIndex(path, -1) {
		if m[0] > 0 && !strings.ContainsRune("|.[{,:(", rune(path[m[0]-1])) {
			continue // part of a key or a value
		}
		if name := path[m[2]:m[3]]; !modifiers[name] {
			return fmt.Errorf("%w: path: @%.20s is not available", ErrBadQuery, name)
		}
	}
	if strings.HasPrefix(path, "..") {
		return fmt.Errorf("%w: path: .. reads lines of JSON, which the data is not", ErrBadQuery)
	}
	return nil
}

// expansions counts what in a path can multiply the data: modifiers and members of multipaths.
func expansions(path string) int {
	if strings.HasPrefix(path, "/") {
		return 0
	}
	n := strings.Count(path, "@")
	if strings.ContainsAny(path, "{[") {
		n += strings.Count(path, ",")
	}
	return n
}

// pathForms returns the ways to read a path, the first that leads somewhere counts: as gjson has it, as a
// JSON pointer, dotted with brackets ($.a[0].b), and as one key that has dots in it.
func pathForms(path string) []string {
	if rest, ok := strings.CutPrefix(path, "/"); ok {
		keys := strings.Split(rest, "/")
		for i, k := range keys {
			keys[i] = gjson.Escape(strings.NewReplacer("~1", "/", "~0", "~").Replace(k))
		}
		return []string{strings.Join(keys, "."), gjson.Escape(path)}
	}
	if path == "$" || path == "." {
		return []string{"@this"}
	}
	forms := []string{path}
	dotted := strings.TrimPrefix(path, "$")
	dotted = bracket.ReplaceAllStringFunc(dotted, func(b string) string {
		m := bracket.FindStringSubmatch(b)
		return "." + m[1] + gjson.Escape(m[2]+m[3])
	})
	dotted = strings.ReplaceAll(dotted, "[]", ".#")
	dotted = strings.TrimPrefix(dotted, ".")
	if at := bracket.FindStringIndex(path); at != nil && at[0] == 0 { // gjson would take it for a list to make
		forms = nil
	}
	if dotted != path && dotted != "" {
		forms = append(forms, dotted)
	}
	return append(forms, gjson.Escape(path))
}
