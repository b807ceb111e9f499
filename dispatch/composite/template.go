package composite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// reference is one template: where its value is found.
type reference struct {
	root     string // inputs, steps, item or index
	path     []string
	fallback json.RawMessage // nil: none
}

// String is the template as it may be written.
func (r reference) String() string {
	s := strings.Join(append([]string{r.root}, r.path...), ".")
	if r.fallback != nil {
		s += "|default:" + string(r.fallback)
	}
	return "{" + s + "}"
}

// segment is a piece of a text: words, or a template.
type segment struct {
	words string
	ref   *reference
}

// named is what begins a template: a word, dots and indexes, a default.
var named = regexp.MustCompile(`^\{([A-Za-z_][A-Za-z0-9_]*)((?:\.[^\s{}|."\[\]]+|\[[0-9]+\])*)(\|default:[^{}]*)?\}`)

var errTemplate = errors.New("no such template")

// parseText cuts a text into words and templates. A brace that begins no template is a brace.
func parseText(text string) ([]segment, error) {
	var out []segment
	var words strings.Builder
	for text != "" {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		words.WriteString(text[:at])
		text = text[at:]
		if strings.HasPrefix(text, "{{") {
			words.WriteByte('{')
			text = text[2:]
			continue
		}
		m := named.FindStringSubmatch(text)
		if m == nil {
			words.WriteByte('{')
			text = text[1:]
			continue
		}
		ref, err := newReference(m)
		if err != nil {
			return nil, err
		}
		if words.Len() > 0 {
			out = append(out, segment{words: words.String()})
			words.Reset()
		}
		out = append(out, segment{ref: ref})
		text = text[len(m[0]):]
	}
	if words.WriteString(text); words.Len() > 0 {
		out = append(out, segment{words: words.String()})
	}
	return out, nil
}

func newReference(m []string) (*reference, error) {
	r := &reference{root: m[1]}
	r.path = strings.FieldsFunc(m[2], func(c rune) bool { return c == '.' || c == '[' || c == ']' })
	switch r.root {
	case "inputs", "steps":
		if len(r.path) == 0 {
			return nil, fmt.Errorf("%s: %s needs a name: %w", m[0], r.root, errTemplate)
		}
	case "item":
	case "index":
		if len(r.path) > 0 {
			return nil, fmt.Errorf("%s: index has no parts: %w", m[0], errTemplate)
		}
	default:
		return nil, fmt.Errorf("%s: a template begins with inputs, steps, item or index; {{ stands for a brace: %w", m[0], errTemplate)
	}
	if text, ok := strings.CutPrefix(m[3], "|default:"); ok {
		r.fallback = literal(text)
	}
	return r, nil
}

// literal reads a text as JSON if it is JSON, else as a text.
func literal(text string) json.RawMessage {
	if trimmed := strings.TrimSpace(text); rawjson.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	return rawjson.Quote(text)
}

// scope is what templates of one run may name.
type scope struct {
	inputs  map[string]json.RawMessage
	steps   map[string]json.RawMessage
	skipped map[string]bool // steps that had no reason to run
	item    json.RawMessage // nil outside of a forEach
	index   int
}

// find returns the value of a template; nil where it is absent and may be.
func (r reference) find(s *scope) (json.RawMessage, error) {
	v, err := r.look(s)
	if v == nil && r.fallback != nil && (err == nil || r.root != "index") {
		return r.fallback, nil
	}
	return v, err
}

func (r reference) look(s *scope) (json.RawMessage, error) {
	switch r.root {
	case "index":
		return json.RawMessage(strconv.Itoa(s.index)), nil
	case "item":
		return descend(s.item, r.path, "item")
	case "inputs":
		v, there := s.inputs[r.path[0]]
		if !there {
			return nil, nil
		}
		return descend(v, r.path[1:], "inputs."+r.path[0])
	}
	if s.skipped[r.path[0]] {
		return nil, nil
	}
	return descend(s.steps[r.path[0]], r.path[1:], "steps."+r.path[0])
}

// descend follows keys and indexes into a value.
func descend(v json.RawMessage, path []string, where string) (json.RawMessage, error) {
	for _, p := range path {
		var next json.RawMessage
		i := rawjson.Space(v, 0)
		switch {
		case i < len(v) && v[i] == '{':
			next = rawjson.Member(v, p)
		case i < len(v) && v[i] == '[':
			if n, err := strconv.Atoi(p); err == nil {
				next = element(v, n)
			}
		}
		if next == nil {
			return nil, fmt.Errorf("%s has no %q", where, p)
		}
		v, where = next, where+"."+p
	}
	return v, nil
}

func element(list json.RawMessage, n int) json.RawMessage {
	for v := range rawjson.Elements(list) {
		if n == 0 {
			return v
		}
		n--
	}
	return nil
}

// value is a JSON value with templates in it, ready to be filled in.
type value struct {
	raw     json.RawMessage // neither of the others: as it stands
	text    []segment
	members []valueMember
	items   []*value
	kind    byte // 0: raw, 't', '{', '['
	line    int
}

type valueMember struct {
	key   string
	value *value
}

// fill returns the value with its templates replaced; nil where it is one template whose value is absent.
func (v *value) fill(s *scope) (json.RawMessage, error) {
	switch v.kind {
	case 't':
		return fillText(v.text, s)
	case '{':
		var b bytes.Buffer
		b.WriteByte('{')
		for _, m := range v.members {
			f, err := m.value.fill(s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.key, err)
			}
			if f == nil { // an input that was not given
				continue
			}
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.Write(rawjson.Quote(m.key))
			b.WriteByte(':')
			b.Write(f)
		}
		b.WriteByte('}')
		return b.Bytes(), nil
	case '[':
		var b bytes.Buffer
		b.WriteByte('[')
		for _, item := range v.items {
			f, err := item.fill(s)
			if err != nil {
				return nil, err
			}
			if f == nil {
				continue
			}
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.Write(f)
		}
		b.WriteByte(']')
		return b.Bytes(), nil
	}
	return v.raw, nil
}

func fillText(text []segment, s *scope) (json.RawMessage, error) {
	if len(text) == 1 && text[0].ref != nil {
		return text[0].ref.find(s)
	}
	var b strings.Builder
	for _, seg := range text {
		if seg.ref == nil {
			b.WriteString(seg.words)
			continue
		}
		v, err := seg.ref.find(s)
		if err != nil {
			return nil, err
		}
		b.WriteString(said(v))
		if b.Len() > maxText {
			return nil, fmt.Errorf("the text has more than %d bytes", maxText)
		}
	}
	return rawjson.Quote(b.String()), nil
}

// said is a value inside of a text: a text as it reads, all else as JSON, nothing for what is absent.
func said(v json.RawMessage) string {
	if i := rawjson.Space(v, 0); i < len(v) && v[i] == '"' {
		return rawjson.Unquote(v[i:])
	}
	return string(rawjson.Compact(v))
}
