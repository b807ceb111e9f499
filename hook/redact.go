package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// RedactOptions say what is not shown.
type RedactOptions struct {
	// Patterns are regular expressions (RE2) for parts of texts.
	Patterns []string
	// Keys are globs, in any case of letters, of keys whose whole values are replaced, at any depth.
	Keys []string
	// With stands in the place of what was found; "" means ***.
	With string
}

// maxNested bounds how deep JSON in texts in JSON is looked into.
const maxNested = 4

// Redact replaces what must not be seen in results, or in arguments where it is run before the call. Texts that hold JSON
// are looked into; all that is not replaced stays byte for byte.
func Redact(o RedactOptions) (dispatch.Hook, error) {
	r := &redactor{with: o.With}
	if r.with == "" {
		r.with = "***"
	}
	for _, p := range o.Patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("pattern: %w", err)
		}
		r.patterns = append(r.patterns, re)
	}
	for _, k := range o.Keys {
		g, err := glob.Compile(string(bytes.ToLower([]byte(k))))
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", k, err)
		}
		r.keys = append(r.keys, g)
	}
	return r, nil
}

type redactor struct {
	patterns []*regexp.Regexp
	keys     []*glob.Pattern
	with     string
}

// Run redacts.
func (r *redactor) Run(_ context.Context, c dispatch.HookCall) (dispatch.Verdict, error) {
	if c.Result == nil {
		if out, changed := r.value(c.Arguments, 0); changed {
			return dispatch.Verdict{Arguments: out}, nil
		}
		return dispatch.Verdict{}, nil
	}
	if out, changed := r.value(c.Result, 0); changed {
		return dispatch.Verdict{Result: out}, nil
	}
	return dispatch.Verdict{}, nil
}

// value returns raw redacted, raw itself where nothing is.
func (r *redactor) value(raw json.RawMessage, nested int) (json.RawMessage, bool) {
	i := rawjson.Space(raw, 0)
	if i >= len(raw) {
		return raw, false
	}
	switch raw[i] {
	case '"':
		return r.text(raw, nested)
	case '{', '[':
		return r.inside(raw, i, nested)
	}
	return raw, false
}

// inside redacts the members or elements and splices what changed into the rest.
func (r *redactor) inside(raw json.RawMessage, at, nested int) (json.RawMessage, bool) {
	var b bytes.Buffer
	done := 0
	for key, v := range rawjson.Spans(raw, at) {
		value, changed := json.RawMessage(nil), false
		if !key.Empty() && r.hides(rawjson.Unquote(key.Of(raw))) {
			value, changed = rawjson.Quote(r.with), true
		} else {
			value, changed = r.value(v.Of(raw), nested)
		}
		if changed {
			b.Write(raw[done:v.From])
			b.Write(value)
			done = v.To
		}
	}
	if done == 0 {
		return raw, false
	}
	b.Write(raw[done:])
	return b.Bytes(), true
}

func (r *redactor) hides(key string) bool {
	low := string(bytes.ToLower([]byte(key)))
	for _, g := range r.keys {
		if g.Match(low) {
			return true
		}
	}
	return false
}

// text redacts a JSON string: as JSON if it holds some, else its words.
func (r *redactor) text(raw json.RawMessage, nested int) (json.RawMessage, bool) {
	text := rawjson.Text(bytes.TrimSpace(raw))
	changed := false
	if trimmed := bytes.TrimSpace(text); nested < maxNested && len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') && rawjson.Valid(trimmed) {
		if text, changed = r.value(json.RawMessage(trimmed), nested+1); !changed {
			return raw, false
		}
		return rawjson.Quote(string(text)), true
	}
	for _, p := range r.patterns {
		if p.Match(text) {
			text, changed = p.ReplaceAllLiteral(text, []byte(r.with)), true
		}
	}
	if !changed {
		return raw, false
	}
	return rawjson.Quote(string(text)), true
}
