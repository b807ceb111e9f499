package spill

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
)

const (
	grepBlock = 1 << 20   // bytes of the lines one worker searches at a time
	grepLine  = 512 << 10 // bytes of the longest line that is searched in memory
)

// A hit is a line that was found.
type hit struct {
	line  int   // its number, known when it is shown
	at    int64 // where it begins
	match int64 // where the match begins, from there
}

// readGrep searches the lines FromLine to ToLine, counts all hits and shows the first of them.
func (s *Shelf) readGrep(ctx context.Context, answer *Answer, v *view, q Query) error {
	re, tree, err := linePattern(q.Pattern)
	if err != nil {
		return err
	}
	answer.Pattern = q.Pattern
	g := &search{re: re, tree: tree, q: q, v: v}
	last := answer.TotalLines
	if q.ToLine > 0 {
		last = min(q.ToLine, last)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.GrepTime, fmt.Errorf("%w: grep: stopped after %s; narrow it with fromLine, toLine or path", ErrTooLarge, s.o.GrepTime))
	defer cancel()
	if err := g.run(ctx, last); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	answer.MatchCount = g.count
	return g.show(answer)
}

// linePattern compiles a pattern so that a match lies within one line, whatever is searched at once: no
// class takes a line feed, and the ends of the text are the ends of a line.
func linePattern(pattern string) (*regexp.Regexp, *syntax.Regexp, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine|syntax.FoldCase)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: pattern: %w", ErrBadQuery, err)
	}
	withinLine(tree)
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: pattern: %w", ErrBadQuery, err)
	}
	return re, tree, nil
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

// show writes the hits with the lines around them, neighbours as one group.
func (g *search) show(answer *Answer) error {
	var out strings.Builder
	written := 0 // last line written
	for i, h := range g.hits {
		block, last, err := g.group(h, i, written)
		if err != nil {
			return err
		}
		if out.Len() > 0 {
			block = "\n" + block
		}
		if out.Len()+len(block) > g.q.Budget {
			if i == 0 {
				out.WriteString(clipText(block, g.q.Budget))
				answer.ReturnedMatches = 1
				if len(g.hits) > 1 {
					h = g.hits[1]
				}
			}
			answer.Truncated = true
			if g.next = h.line; i == 0 && len(g.hits) < 2 {
				g.next = 0
			}
			break
		}
		out.WriteString(block)
		written = last
		answer.ReturnedMatches++
	}
	answer.Text = out.String()
	answer.NextLine = g.next
	answer.Truncated = answer.Truncated || g.next > 0
	answer.Lines = strings.Count(answer.Text, "\n")
	if answer.Text != "" {
		answer.Lines++
	}
	return nil
}

// group renders one hit: what of its context was not written yet, the line itself, and the lines behind
// it up to the next hit, which brings its own.
func (g *search) group(h hit, i, written int) (string, int, error) {
	from, to := max(h.line-g.q.Context, written+1, 1), h.line
	if g.q.Context > 0 {
		to = min(h.line+g.q.Context, g.v.Index.Lines())
		if i+1 < len(g.hits) {
			to = min(to, g.hits[i+1].line-1)
		}
	}
	var out []string
	if g.q.Context > 0 && written > 0 && from > written+1 {
		out = append(out, "---")
	}
	lines, err := byline.NewReader(g.v.r, g.v.Index, from)
	if err != nil {
		return "", 0, err
	}
	for n := from; n <= to; n++ {
		line, err := lines.Read()
		if err != nil {
			return "", 0, err
		}
		if n != h.line {
			out = append(out, fmt.Sprintf("%d- %s", n, shown(line)))
			continue
		}
		text, err := g.around(line, h.match)
		if err != nil {
			return "", 0, err
		}
		out = append(out, fmt.Sprintf("%d: %s", n, text))
	}
	return strings.Join(out, "\n"), to, nil
}

// around shows a line clipped so that the match is in it.
func (g *search) around(line byline.Line, match int64) (string, error) {
	if end := runes(line.Head, maxShownLine); match < int64(end) && (line.Size == int64(end) || match < int64(end)*2/3) {
		return shown(line), nil
	}
	const before, most = 400, 1600 // bytes read on both sides of the match
	from := max(match-before, 0)
	buf := make([]byte, min(line.Size, match+most)-from)
	if err := byline.ReadAt(g.v.r, buf, line.At+from); err != nil {
		return "", err
	}
	start := startOfRune(buf, int(match-from))
	for n := 0; n < maxShownLine/3 && start > 0; n++ {
		start = startOfRune(buf, start-1)
	}
	length := runes(buf[start:], maxShownLine)
	text := valid(buf[start : start+length])
	if skipped := from + int64(start); skipped > 0 {
		text = fmt.Sprintf("[%d bytes]…%s", skipped, text)
	}
	if rest := line.Size - from - int64(start+length); rest > 0 {
		text += fmt.Sprintf("…[+%d bytes at offset %d]", rest, line.At+from+int64(start+length))
	}
	return text, nil
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
