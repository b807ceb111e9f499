// Package rawjson finds its way through JSON without decoding it.
//
// All functions take JSON as it was written and give parts of it as they stand there: what is only carried on is
// neither copied nor changed. Nothing here trusts its input. Each walk checks what it passes, so on bytes that are not
// JSON it ends early, never reads outside of them and never panics.
package rawjson

import (
	"encoding/json"
	"errors"
	"iter"
)

// MaxDepth is how deep objects and arrays may stand inside each other, as in encoding/json.
const MaxDepth = 10000

// Errors of Check.
var (
	ErrInvalid = errors.New("not valid JSON")
	ErrDepth   = errors.New("JSON is nested too deep")
)

// Check tells whether raw is one JSON value, white space around it allowed. The error is ErrDepth if it nests deeper
// than MaxDepth, else ErrInvalid: whichever is met first.
func Check(raw []byte) error {
	switch i := value(raw, Space(raw, 0), 0); {
	case i == tooDeep:
		return ErrDepth
	case i < 0 || Space(raw, i) != len(raw):
		return ErrInvalid
	}
	return nil
}

// Valid reports whether Check finds no fault. It agrees with json.Valid.
func Valid(raw []byte) bool { return Check(raw) == nil }

// Object checks, in one pass, that raw is one JSON object and shows its members in order: the key as written, quotes
// included, and the value as written. When it is false some members may have been shown.
func Object(raw []byte, show func(key, value []byte)) bool {
	return whole(raw, '{', func(key, value Span) bool {
		show(key.Of(raw), value.Of(raw))
		return true
	})
}

// whole goes through an object or array with nothing but white space around it.
func whole(raw []byte, opening byte, yield func(key, value Span) bool) bool {
	i := Space(raw, 0)
	if i >= len(raw) || raw[i] != opening {
		return false
	}
	i = spans(raw, i, yield)
	return i >= 0 && Space(raw, i) == len(raw)
}

func spans(raw []byte, i int, yield func(key, value Span) bool) int {
	return inside(raw, i, 0, func(key Span, at int) int {
		end := value(raw, at, 1)
		if end >= 0 && !yield(key, Span{at, end}) {
			return stopped
		}
		return end
	})
}

// Members yields the members of an object: the key decoded, the value as written. What is no object has none. It does
// not tell a fault from the end: it is for JSON that was checked before.
func Members(raw []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		whole(raw, '{', func(key, value Span) bool { return yield(Unquote(key.Of(raw)), value.Of(raw)) })
	}
}

// Elements yields the elements of an array as written, under the same terms as Members.
func Elements(raw []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		whole(raw, '[', func(_, value Span) bool { return yield(value.Of(raw)) })
	}
}

// Member returns the value of a key as written, nil if raw is no object or lacks it. Of several the last one counts.
func Member(raw []byte, key string) (found json.RawMessage) {
	for k, v := range Members(raw) {
		if k == key {
			found = v
		}
	}
	return found
}

// Span is where a value stands in a text: from its first byte up to To, which is no part of it.
type Span struct{ From, To int }

// Of returns the value out of its text. Appending to it does not change the text.
func (s Span) Of(raw []byte) []byte { return raw[s.From:s.To:s.To] }

// Empty reports that nothing stands there.
func (s Span) Empty() bool { return s.To <= s.From }

// Spans yields where in raw the members of the object, or the elements of the array, that begins at i stand: the key
// with its quotes (in an array empty, before the value) and the value. Like Members it does not tell a fault from the end.
func Spans(raw []byte, i int) iter.Seq2[Span, Span] {
	return func(yield func(key, value Span) bool) {
		if opens(raw, i) {
			spans(raw, i, yield)
		}
	}
}

// Each goes through the object or array that begins at i and calls visit with the key of each member (as in Spans) and
// the index at which its value begins. visit passes the value and returns the index after it, as Skip and Each do, or a
// negative one to end the walk: so what lies deeper is passed once, whoever looks at it. Each returns the index after the
// closing bracket, negative on a fault or where visit said so.
func Each(raw []byte, i int, visit func(key Span, at int) int) int {
	if !opens(raw, i) {
		return invalid
	}
	return inside(raw, i, 0, visit)
}

func opens(raw []byte, i int) bool { return i >= 0 && i < len(raw) && (raw[i] == '{' || raw[i] == '[') }

// Skip returns the index after the value that begins at i, negative if there is none.
func Skip(raw []byte, i int) int { return value(raw, i, 0) }

// Space returns the first index from i on where no white space stands.
func Space(raw []byte, i int) int {
	for i < len(raw) && IsSpace(raw[i]) {
		i++
	}
	return i
}

// IsSpace reports whether c is white space between the tokens of JSON.
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
