package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns what a JSON string says, nil if raw is none. Half surrogates become the replacement character, all other
// bytes stay as they are, valid UTF-8 or not. Without escapes it is a part of raw.
func Text(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil
	}
	b := raw[1 : len(raw)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	if len(b) >= wide {
		if out, ok := decodeHalves(b); ok {
			return out
		}
	}
	return decodeText(make([]byte, TextLen(raw)), b)
}

// TextLen returns how many bytes Text returns, at most three too many for each \u escape; 0 if raw is no string. It is
// much faster than Text.
func TextLen(raw []byte) int {
	if len(raw) < 2 || raw[0] != '"' {
		return 0
	}
	b := raw[1 : len(raw)-1]
	n := len(b) - bytes.Count(b, []byte{'\\'}) + bytes.Count(b, []byte(`\\`)) // a run of backslashes is escaped by pairs
	if bytes.Contains(b, []byte(`\u`)) {
		n -= 2 * bytes.Count(b, []byte(`\u`)) // some of them may be an escaped backslash before a u
		n += 2 * bytes.Count(b, []byte(`\\u`))
	}
	return n
}

// unescape reads the escape b begins with, or two that are one character.
func unescape(b []byte) (rune, []byte) {
	switch c, rest := b[1], b[2:]; c {
	case 'u':
		r, rest := hex4(rest), rest[4:]
		if utf16.IsSurrogate(r) {
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
				return utf8.RuneError, rest
			}
			if r = utf16.DecodeRune(r, hex4(rest[2:])); r != utf8.RuneError {
				rest = rest[6:]
			}
		}
		return r, rest
	case 'b':
		return '\b', rest
	case 'f':
		return '\f', rest
	case 'n':
		return '\n', rest
	case 'r':
		return '\r', rest
	case 't':
		return '\t', rest
	default:
		return rune(c), rest
	}
}

// hex4 reads four hexadecimal digits, -1 if they are none.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// Unquote decodes a JSON string as encoding/json does: what is not valid UTF-8 becomes the replacement character. ""
// if raw is none. The result shares no memory with raw.
func Unquote(raw []byte) string {
	s := Text(raw)
	if !utf8.Valid(s) {
		return string([]rune(string(s)))
	}
	return string(s)
}

// Quote encodes s as a JSON string, without the escapes that only HTML needs.
func Quote(s string) []byte {
	if simple(s) {
		b := make([]byte, 0, len(s)+2)
		return append(append(append(b, '"'), s...), '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// simple says that nothing in s needs an escape: it is printable ASCII without quotes and backslashes.
func simple(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// AppendQuote appends s as a JSON string that escapes only what must be.
func AppendQuote(out []byte, s string) []byte {
	out = append(out, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[from:i]...)
		from = i + 1
		out = appendEscape(out, c)
	}
	return append(append(out, s[from:]...), '"')
}

func appendEscape(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	case '\b':
		return append(out, '\\', 'b')
	case '\f':
		return append(out, '\\', 'f')
	}
	return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

const hexDigits = "0123456789abcdef"

// Compact takes the white space between the tokens out of valid JSON; their spelling stays. Without any it returns raw.
func Compact(raw []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			if i = text(raw, i); i < 0 {
				i = len(raw)
			}
		case IsSpace(c):
			if out == nil {
				out = make([]byte, 0, len(raw))
			}
			out = append(out, raw[from:i]...)
			i = Space(raw, i)
			from = i
		default:
			i++
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[from:]...)
}

// OneLine is Compact for JSON that holds line breaks; without them it returns raw as it is. Inside strings there are none:
// that it can promise a line, it checks what it changes. Errors are those of Check.
func OneLine(raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw, nil
	}
	if err := Check(raw); err != nil {
		return nil, err
	}
	return Compact(raw), nil
}
