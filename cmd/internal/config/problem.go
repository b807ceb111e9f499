package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// Error is one problem of a configuration file.
type Error struct {
	File string // as it was given; "mcp=" for words of the command line
	Line int    // 1-based; 0 when no line is to blame
	Msg  string // what is wrong, without values that may be secret
	Near string // the nearest known spelling, empty if none is near
	Err  error  // the cause, or nil
}

// Error returns `FILE:LINE: message; did you mean "near"?`.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Near != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Near)
	}
	return b.String()
}

// Unwrap returns the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.Err }

// Errors holds every problem of a file, in the order of its lines.
type Errors []*Error

// Error returns the problems, one a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single problems, so that errors.Is and errors.As reach each of them.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, p := range e {
		out[i] = p
	}
	return out
}

// problems gathers what is wrong with one file, so that one run names everything.
type problems struct {
	file string
	list Errors
}

func (p *problems) add(line int, format string, args ...any) {
	p.list = append(p.list, &Error{File: p.file, Line: line, Msg: fmt.Sprintf(format, args...)})
}

// near reports a word that is none of known.
func (p *problems) near(line int, word string, known []string, format string, args ...any) {
	p.list = append(p.list, &Error{File: p.file, Line: line, Msg: fmt.Sprintf(format, args...), Near: Nearest(word, known)})
}

// take adds what is wrong with the notation.
func (p *problems) take(faults []notation.Fault) {
	for _, f := range faults {
		p.list = append(p.list, &Error{File: p.file, Line: f.Line, Msg: f.Msg})
	}
}

// ErrorsOf returns the faults of a file as Errors, in the order of their lines; nil if there are none.
func ErrorsOf(file string, faults []notation.Fault) error {
	p := &problems{file: file}
	p.take(faults)
	return p.err()
}

// err returns the problems in the order of their lines; nil if there are none.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b *Error) int { return a.Line - b.Line })
	p.list = slices.CompactFunc(p.list, func(a, b *Error) bool { return *a == *b })
	return p.list
}

// Nearest returns the known word closest to word, or "" if all are far: more than a third of the
// longer word would have to change.
func Nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, score := "", 0
	low := strings.ToLower(word)
	for _, k := range known {
		kl := strings.ToLower(k)
		limit := max(len(low), len(kl))/3 + 1
		d := levenshtein.ComputeDistance(low, kl)
		if strings.HasPrefix(kl, low) && len(low) >= 3 {
			d = min(d, 1)
		}
		if d <= limit && (best == "" || d < score) {
			best, score = k, d
		}
	}
	return best
}
