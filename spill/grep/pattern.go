// Package grep finds the lines of a large text that match a pattern.
package grep

import (
	"bufio"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
)

const (
	grepBlock = 1 << 20   // bytes of the lines one worker searches at a time
	grepLine  = 512 << 10 // bytes of the longest line that is searched in memory
)

// Hit is a line that was found.
type Hit struct {
	Line  int   // its number, known when it is shown
	At    int64 // where it begins
	Match int64 // where the match begins, from there
}

// Pattern is a pattern made to be looked for in lines.
type Pattern struct {
	re   *regexp.Regexp
	tree *syntax.Regexp
}

// Compile reads a pattern in the syntax of RE2, regardless of case, so that a match lies within one line, whatever is searched at once: no
// class takes a line feed, and the ends of the text are the ends of a line.
func Compile(pattern string) (*Pattern, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine|syntax.FoldCase)
	if err != nil {
		return nil, fmt.Errorf("%w: pattern: %w", fault.ErrBadQuery, err)
	}
	withinLine(tree)
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, fmt.Errorf("%w: pattern: %w", fault.ErrBadQuery, err)
	}
	return &Pattern{re, tree}, nil
}

func withinLine(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op, re.Flags = syntax.OpEndLine, re.Flags&^syntax.WasDollar
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				re.Op, re.Rune = syntax.OpNoMatch, nil
				break
			}
		}
	case syntax.OpCharClass:
		var kept []rune
		for i := 0; i < len(re.Rune); i += 2 {
			low, high := re.Rune[i], re.Rune[i+1]
			if low < '\n' && '\n' <= high {
				kept = append(kept, low, '\n'-1)
			}
			if low <= '\n' && '\n' < high {
				kept = append(kept, '\n'+1, high)
			}
			if high < '\n' || low > '\n' {
				kept = append(kept, low, high)
			}
		}
		re.Rune = kept
		if len(kept) == 0 {
			re.Op = syntax.OpNoMatch
		}
	}
	for _, sub := range re.Sub {
		withinLine(sub)
	}
}

// runeReader feeds a regular expression and remembers why the feed ended.
type runeReader struct {
	*bufio.Reader
	err error
}

// ReadRune implements io.RuneReader.
func (r *runeReader) ReadRune() (rune, int, error) {
	c, size, err := r.Reader.ReadRune()
	if err != nil {
		r.err = err
	}
	return c, size, err
}
