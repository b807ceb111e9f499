package secret

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Shorter values are hidden only where they stand by structure, not wherever they occur in a text:
// they would make words unreadable and are no secrets.
const (
	minSecret = 4
	minStderr = 6
)

// plainWords are frequent values of settings that give nothing away, in whatever text they occur.
var plainWords = map[string]bool{
	"true": true, "false": true, "null": true, "none": true, "info": true, "warn": true, "error": true, "debug": true, "trace": true,
	"http": true, "https": true, "json": true, "text": true, "stdio": true, "auto": true, "localhost": true, "bearer": true, "basic": true,
}

// Redactor replaces secrets in text by ***. It is safe for concurrent use; a nil Redactor changes
// nothing.
type Redactor struct {
	all, stderr matcher
}

// NewRedactor returns a redactor of the given values and of their URL-encoded, JSON-escaped and
// base64 spellings. Values under 4 bytes are left out.
func NewRedactor(values ...string) *Redactor {
	var all, long []string
	for _, v := range values {
		if len(v) < minSecret || plainWords[strings.ToLower(v)] || strings.Trim(v, "*") == "" {
			continue
		}
		s := spellings(v)
		all = append(all, s...)
		if len(v) >= minStderr {
			long = append(long, s...)
		}
	}
	return &Redactor{all: newMatcher(all), stderr: newMatcher(long)}
}

// Redact returns text with every secret replaced by ***.
func (r *Redactor) Redact(text string) string {
	if r == nil {
		return text
	}
	return r.all.redact(text)
}

// RedactStderr is Redact for what a server wrote to its stderr, where only secrets of 6 bytes and
// more are replaced.
func (r *Redactor) RedactStderr(text string) string {
	if r == nil {
		return text
	}
	return r.stderr.redact(text)
}

// spellings returns the ways in which a value may stand in a text.
func spellings(v string) []string {
	out := []string{v}
	query, path := url.QueryEscape(v), url.PathEscape(v)
	out = append(out, query, path, strings.ReplaceAll(query, "+", "%20"), lowerHex(query), lowerHex(path))
	out = append(out, unquoted(strconv.Quote(v)), unquoted(strconv.QuoteToASCII(v)))
	if j, err := json.Marshal(v); err == nil {
		escaped := unquoted(string(j))
		out = append(out, escaped, strings.ReplaceAll(escaped, "/", `\/`))
		out = append(out, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(escaped))
	}
	if len(v) >= minStderr {
		out = append(out, base64Spellings(v)...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < minSecret })
}

func unquoted(s string) string { return s[1 : len(s)-1] }

// lowerHex writes the percent escapes of s in lower case.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// base64Spellings returns what v looks like inside base64 of a longer text, at each of the three
// alignments, without the characters that its neighbours share.
func base64Spellings(v string) []string {
	var out []string
	for shift := range 3 {
		padded := append(make([]byte, shift), v...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			s := enc.EncodeToString(padded)
			from, to := (shift*8+5)/6, len(padded)*8/6
			if to-from >= minStderr {
				out = append(out, s[from:to])
			}
			if shift == 0 && len(s) > to {
				out = append(out, s)
			}
		}
	}
	return out
}

// matcher finds any of many strings of at least 4 bytes. The first four bytes are looked up at each
// position, behind a bit filter that nearly always says no.
type matcher struct {
	byPrefix map[uint32][]string // longest first
	filter   []uint64
}

const filterBits = 1 << 14

func newMatcher(patterns []string) matcher {
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	slices.SortStableFunc(patterns, func(a, b string) int { return len(b) - len(a) })
	m := matcher{byPrefix: map[uint32][]string{}, filter: make([]uint64, filterBits/64)}
	for _, p := range patterns {
		key := prefix(p)
		m.byPrefix[key] = append(m.byPrefix[key], p)
		bit := filterBit(key)
		m.filter[bit/64] |= 1 << (bit % 64)
	}
	return m
}

func prefix(s string) uint32 { return binary.LittleEndian.Uint32([]byte(s[:4])) }

func filterBit(key uint32) uint32 { return key * 2654435769 >> 18 }

// redact replaces the union of all matches, so that overlapping secrets leave no rest of one behind.
func (m matcher) redact(text string) string {
	if len(m.byPrefix) == 0 {
		return text
	}
	var spans []span
	for i := 0; i+minSecret <= len(text); i++ {
		key := prefix(text[i : i+4])
		if bit := filterBit(key); m.filter[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		for _, p := range m.byPrefix[key] {
			if strings.HasPrefix(text[i:], p) {
				spans = append(spans, span{i, i + len(p)})
				break
			}
		}
	}
	if spans == nil {
		return text
	}
	return mask(text, spans)
}
