package layout

import (
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Style is the way in which a program escapes JSON strings. Most results come from a few libraries, so
// that a text can be put back into its string by naming the style instead of keeping the string.
type Style string

// The styles of the libraries in use.
const (
	Short Style = "short" // only what must be escaped
	HTML  Style = "html"  // besides < > & and the two line separators
	ASCII Style = "ascii" // besides all that is not ASCII
)

// Styles are all of them, the usual one first.
var Styles = []Style{Short, HTML, ASCII}

// Quoter writes a text as the inside of a JSON string. Writes may be cut anywhere.
type Quoter struct {
	W     io.Writer
	Style Style
	held  []byte // first bytes of a character whose rest comes with the next write
	buf   []byte
}

// Write implements io.Writer.
func (q *Quoter) Write(p []byte) (int, error) {
	n := len(p)
	if len(q.held) > 0 {
		p = append(q.held, p...)
		q.held = nil
	}
	q.buf = q.buf[:0]
	plain := &plainBytes
	if q.Style == Short {
		plain = &plainOrWide
	}
	for i := 0; i < len(p); {
		from := i
		for i < len(p) && plain[p[i]] {
			i++
		}
		if q.buf = append(q.buf, p[from:i]...); i == len(p) {
			break
		}
		if c := p[i]; c < utf8.RuneSelf {
			q.ascii(c)
			i++
			continue
		}
		if !utf8.FullRune(p[i:]) {
			q.held = bytes.Clone(p[i:])
			break
		}
		r, size := utf8.DecodeRune(p[i:])
		q.wide(r, p[i:i+size])
		i += size
	}
	_, err := q.W.Write(q.buf)
	return n, err
}

// plainBytes go through in every style; plainOrWide also takes what is not ASCII.
var plainBytes, plainOrWide = func() (plain, wide [256]bool) {
	for c := range 256 {
		plain[c] = c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
		wide[c] = plain[c] || c >= utf8.RuneSelf
	}
	return plain, wide
}()

// Close writes what is left of a text that ends within a character.
func (q *Quoter) Close() error {
	_, err := q.W.Write(q.held)
	q.held = nil
	return err
}

const hexDigits = "0123456789abcdef"

func (q *Quoter) ascii(c byte) {
	switch {
	case c == '"' || c == '\\':
		q.buf = append(q.buf, '\\', c)
	case c == '\n':
		q.buf = append(q.buf, `\n`...)
	case c == '\r':
		q.buf = append(q.buf, `\r`...)
	case c == '\t':
		q.buf = append(q.buf, `\t`...)
	case c == '\b':
		q.buf = append(q.buf, `\b`...)
	case c == '\f':
		q.buf = append(q.buf, `\f`...)
	case c < 0x20, q.Style == HTML && (c == '<' || c == '>' || c == '&'):
		q.unit(rune(c))
	default:
		q.buf = append(q.buf, c)
	}
}

func (q *Quoter) wide(r rune, bytes []byte) {
	switch {
	case q.Style == HTML && (r == '\u2028' || r == '\u2029'):
		q.unit(r)
	case q.Style == ASCII && r > 0xffff:
		high, low := utf16.EncodeRune(r)
		q.unit(high)
		q.unit(low)
	case q.Style == ASCII:
		q.unit(r)
	default:
		q.buf = append(q.buf, bytes...)
	}
}

func (q *Quoter) unit(r rune) {
	q.buf = append(q.buf, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
