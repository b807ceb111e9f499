package arguments

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	maxRepairDepth = 64 // levels of arguments that are looked at
	maxNotes       = 10
	maxNote        = 40 // bytes of a value shown in a note
)

// Repair puts right values whose kind is surely wrong and whose meaning is plain: a JSON string
// where the schema wants an object, array, number or boolean; a scalar where it wants a list of
// scalars; null for an absent optional property. It returns the arguments (the same bytes if there
// was nothing to repair) and a short note for each repair. References (see Bind) are left alone.
// A nil Schema repairs nothing.
func (s *Schema) Repair(args json.RawMessage) (json.RawMessage, []string) {
	if s == nil || !rawjson.Valid(args) {
		return args, nil
	}
	r := &repairer{}
	edits := r.value(args, rawjson.Space(args, 0), s.place, "", 0)
	if more := len(r.notes) - maxNotes; more > 0 {
		r.notes = append(r.notes[:maxNotes], fmt.Sprintf("+%d more", more))
	}
	return splice(args, edits), r.notes
}

type repairer struct{ notes []string }

// value returns the edits that repair the value at position i of b.
func (r *repairer) value(b []byte, i int, at place, path string, depth int) []edit {
	k := at.kinds()
	if depth > maxRepairDepth || k == 0 || at.isAnything() {
		return nil
	}
	switch got := b[i]; {
	case got == '{' && k&object != 0:
		return r.object(b, i, at, path, depth)
	case got == '[' && k&list != 0:
		var edits []edit
		for n, e := range elements(b, i) {
			edits = append(edits, r.value(b, e.From, at.item(n), index(path, n), depth+1)...)
		}
		return edits
	case got != '{' && got != '[' && got != 'n':
		end := rawjson.Skip(b, i)
		if fixed, ok := r.scalar(b[i:end], at, path, depth); ok {
			return []edit{{i, end, fixed}}
		}
	}
	return nil
}

// object repairs the members of an object and takes out null for what is optional.
func (r *repairer) object(b []byte, i int, at place, path string, depth int) []edit {
	ms := members(b, i)
	if isReserved(b, ms) {
		return nil
	}
	var edits []edit
	kept := false // some member before this one stays
	for n, m := range ms {
		sub, key := at.member(m.key), join(path, m.key)
		if b[m.From] != 'n' || sub.kinds()&null != 0 || !at.declares(m.key) || at.requires(m.key) {
			kept = true
			edits = append(edits, r.value(b, m.From, sub, key, depth+1)...)
			continue
		}
		r.note("%s: null dropped", key)
		switch {
		case kept:
			edits = append(edits, edit{ms[n-1].To, m.To, nil})
		case n+1 < len(ms):
			edits = append(edits, edit{m.keyAt, ms[n+1].keyAt, nil})
		default:
			edits = append(edits, edit{m.keyAt, m.To, nil})
		}
	}
	return edits
}

// scalar returns what a string, number or boolean that the place refuses should have been.
func (r *repairer) scalar(raw []byte, at place, path string, depth int) ([]byte, bool) {
	k := at.kinds()
	if k&kindOf(raw) != 0 {
		return nil, false
	}
	if inner, ok := insideString(raw); ok && fitsInside(inner, k) {
		r.note("%s: %s → %s", path, clip(string(raw), maxNote), noted(inner))
		return splice(inner, r.value(inner, 0, at, path, depth+1)), true
	}
	items := at.item(0).kinds()
	if k&list == 0 || items == 0 || items&^scalars != 0 {
		return nil, false
	}
	item := raw
	if inner, ok := insideString(raw); ok && items&text == 0 && items&kindOf(inner) != 0 {
		item = inner
	}
	if items&kindOf(item) == 0 {
		return nil, false
	}
	fixed := "[" + string(item) + "]"
	r.note("%s: %s → %s", path, clip(string(raw), maxNote), clip(fixed, maxNote))
	return []byte(fixed), true
}

// insideString returns the JSON that a JSON string holds.
func insideString(raw []byte) ([]byte, bool) {
	if raw[0] != '"' {
		return nil, false
	}
	inner := []byte(strings.TrimSpace(rawjson.Unquote(raw)))
	if len(inner) == 0 || !rawjson.Valid(inner) {
		return nil, false
	}
	return inner, true
}

// fitsInside reports whether JSON out of a string is what a place of kinds k wants; a reference may
// stand for anything.
func fitsInside(inner []byte, k kinds) bool {
	if inner[0] == '{' && isReserved(inner, members(inner, 0)) {
		return true
	}
	return k&kindOf(inner)&^(null|text) != 0
}

func (r *repairer) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// noted shows a value in a note: scalars as they are, the rest by kind.
func noted(raw []byte) string {
	if k := kindOf(raw); k&scalars == 0 {
		return k.String()
	}
	return clip(string(raw), maxNote)
}

// isAnything reports that the place says nothing.
func (p place) isAnything() bool {
	for _, all := range p {
		if len(all) == 0 {
			return true
		}
	}
	return false
}

// join and index write the path of a value as an agent would: rows[3].amount.
func join(path, key string) string {
	if !isWord(key) {
		return path + "[" + string(rawjson.Quote(clip(key, maxNote))) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func isWord(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && r != '$' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= 2*maxNote
}

// clip cuts s to at most n bytes at a character border and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := n - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
