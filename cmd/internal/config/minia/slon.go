package minia

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// SLON is the one-line notation mini-a takes on its command line: maps in parentheses with `key: value`
// parts between commas, lists in brackets with `|` or `,` between elements, text bare or in single or
// double quotes with the escapes of JSON. Bare text ends at the next separator or closing bracket;
// in values, unlike keys, it may hold colons, so that `url: http://host/` needs no quotes.

type slonParser struct {
	text  string
	at    int
	depth int
}

// parseSLON reads one SLON value; JSON-style braces are not part of it.
func parseSLON(text string) (*notation.Node, error) {
	p := &slonParser{text: text}
	n, err := p.value(",|)]")
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.errorf("unexpected %q after the value", p.rest())
	}
	return n, nil
}

func (p *slonParser) errorf(format string, args ...any) error {
	return fmt.Errorf("at character %d: %s", utf8.RuneCountInString(p.text[:p.at])+1, fmt.Sprintf(format, args...))
}

// rest returns the next character, for messages.
func (p *slonParser) rest() string {
	_, size := utf8.DecodeRuneInString(p.text[p.at:])
	return p.text[p.at : p.at+size]
}

func (p *slonParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// peek skips space and returns the next byte, 0 at the end.
func (p *slonParser) peek() byte {
	p.space()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *slonParser) value(stop string) (*notation.Node, error) {
	if p.depth++; p.depth > notation.MaxDepth {
		return nil, p.errorf("nested more than %d levels deep", notation.MaxDepth)
	}
	defer func() { p.depth-- }()
	switch p.peek() {
	case '(':
		return p.mapping()
	case '[':
		return p.list()
	case '"', '\'':
		text, err := p.quoted()
		return &notation.Node{Kind: notation.Text, Text: text}, err
	}
	text := p.bare(stop)
	if text == "" {
		return nil, p.errorf("a value is missing")
	}
	return &notation.Node{Kind: bareKind(text), Text: text}, nil
}

func (p *slonParser) mapping() (*notation.Node, error) {
	n := &notation.Node{Kind: notation.Mapping}
	p.at++
	for p.peek() != ')' {
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		if p.peek() != ':' {
			return nil, p.errorf("a ':' is missing after the key %q", key)
		}
		p.at++
		value, err := p.value(",)")
		if err != nil {
			return nil, err
		}
		if n.Get(key) != nil {
			return nil, p.errorf("duplicate key %q", key)
		}
		n.Put(key, value)
		if err := p.separator(",", ')'); err != nil {
			return nil, err
		}
	}
	p.at++
	return n, nil
}

func (p *slonParser) list() (*notation.Node, error) {
	n := &notation.Node{Kind: notation.List}
	p.at++
	for p.peek() != ']' {
		value, err := p.value(",|]")
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, value)
		if err := p.separator(",|", ']'); err != nil {
			return nil, err
		}
	}
	p.at++
	return n, nil
}

// separator passes one of the separators, or stops before the closing bracket.
func (p *slonParser) separator(separators string, closing byte) error {
	c := p.peek()
	switch {
	case c == closing:
		return nil
	case c == 0:
		return p.errorf("a '%c' is missing at the end", closing)
	case strings.IndexByte(separators, c) < 0:
		return p.errorf("unexpected %q", p.rest())
	}
	p.at++
	return nil
}

func (p *slonParser) key() (string, error) {
	if c := p.peek(); c == '"' || c == '\'' {
		return p.quoted()
	}
	key := p.bare(":,()[]")
	if key == "" {
		if p.at == len(p.text) {
			return "", p.errorf("a ')' is missing at the end")
		}
		return "", p.errorf("a key is missing before %q", p.rest())
	}
	return key, nil
}

// bare reads up to one of the stop bytes; space around it does not count.
func (p *slonParser) bare(stop string) string {
	start := p.at
	if i := strings.IndexAny(p.text[p.at:], stop); i >= 0 {
		p.at += i
	} else {
		p.at = len(p.text)
	}
	return strings.Trim(p.text[start:p.at], " \t\r\n")
}

func (p *slonParser) quoted() (string, error) {
	quote := p.text[p.at]
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text); {
		switch c := p.text[p.at]; c {
		case quote:
			p.at++
			return b.String(), nil
		case '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	p.at = start
	return "", p.errorf("the quote is never closed")
}

var slonEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// escape reads one escape; an unknown one stands for the character itself, so that paths and
// patterns written without doubling survive only where they are unambiguous.
func (p *slonParser) escape(b *strings.Builder) error {
	p.at++
	if p.at == len(p.text) {
		return p.errorf("the text ends inside an escape")
	}
	c := p.text[p.at]
	p.at++
	if c == 'u' {
		if p.at+4 > len(p.text) {
			return p.errorf("\\u needs four hexadecimal digits")
		}
		v, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 16)
		if err != nil {
			return p.errorf("\\u needs four hexadecimal digits")
		}
		p.at += 4
		b.WriteRune(rune(v))
		return nil
	}
	if special, ok := slonEscapes[c]; ok {
		c = special
	}
	b.WriteByte(c)
	return nil
}

func bareKind(text string) notation.Kind {
	switch text {
	case "true", "false":
		return notation.Bool
	case "null":
		return notation.Null
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return notation.Number
	}
	return notation.Text
}
