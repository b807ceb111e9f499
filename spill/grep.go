package spill

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	grepChunk = 256 << 10 // bytes searched at a time
	grepLine  = 512 << 10 // bytes of the longest line that is searched in memory
)

// A hit is a line that was found.
type hit struct {
	line  int
	at    int64 // where it begins
	match int64 // where the match begins, from there
}

// readGrep searches the lines FromLine to ToLine, counts all hits and shows the first of them.
func readGrep(ctx context.Context, answer *Answer, v *view, q Query) error {
	re, err := linePattern(q.Pattern)
	if err != nil {
		return err
	}
	answer.Pattern = q.Pattern
	g := &search{re: re, q: q, v: v, last: answer.TotalLines}
	if q.ToLine > 0 {
		g.last = min(q.ToLine, g.last)
	}
	if err := g.run(ctx); err != nil {
		return err
	}
	answer.MatchCount = g.count
	return g.show(answer)
}

// linePattern compiles a pattern so that a match lies within one line, whatever is searched at once: no
// class takes a line feed, and the ends of the text are the ends of a line.
func linePattern(pattern string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine|syntax.FoldCase)
	if err != nil {
		return nil, fmt.Errorf("%w: pattern: %w", ErrBadQuery, err)
	}
	withinLine(tree)
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, fmt.Errorf("%w: pattern: %w", ErrBadQuery, err)
	}
	return re, nil
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

// search goes once through the lines.
type search struct {
	re    *regexp.Regexp
	q     Query
	v     *view
	last  int // line
	line  int // number of the line at the beginning of the chunk
	count int
	hits  []hit // the first of them
	next  int   // line of the first hit that is not shown
}

func (g *search) run(ctx context.Context) error {
	at, err := g.v.Index.start(g.v.r, g.q.FromLine)
	if err != nil {
		return err
	}
	end, err := g.v.Index.start(g.v.r, g.last+1)
	if err != nil {
		return err
	}
	g.line = g.q.FromLine
	buf := make([]byte, grepChunk)
	for at < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk := buf[:min(int64(len(buf)), end-at)]
		if err := readAt(g.v.r, chunk, at); err != nil {
			return err
		}
		whole := len(chunk) // up to the last line feed
		if at+int64(len(chunk)) < end {
			whole = bytes.LastIndexByte(chunk, '\n') + 1
		}
		switch {
		case whole > 0:
			g.chunk(chunk[:whole], at)
			at += int64(whole)
		case len(buf) < grepLine:
			buf = make([]byte, 2*len(buf))
		default:
			if at, err = g.long(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunk searches whole lines.
func (g *search) chunk(b []byte, at int64) {
	for len(b) > 0 {
		if g.q.Invert {
			end := bytes.IndexByte(b, '\n')
			if end < 0 {
				end = len(b)
			}
			if !g.re.Match(b[:end]) {
				g.found(hit{line: g.line, at: at})
			}
			g.line++
			end = min(end+1, len(b))
			b, at = b[end:], at+int64(end)
			continue
		}
		found := g.re.FindIndex(b)
		if found == nil || found[0] == len(b) && b[len(b)-1] == '\n' { // behind the last line is none
			g.line += lineCount(b)
			return
		}
		start := bytes.LastIndexByte(b[:found[0]], '\n') + 1
		g.line += bytes.Count(b[:start], []byte("\n"))
		g.found(hit{g.line, at + int64(start), int64(found[0] - start)})
		end := bytes.IndexByte(b[found[0]:], '\n')
		if end < 0 {
			g.line++
			return
		}
		end += found[0] + 1
		g.line++
		b, at = b[end:], at+int64(end)
	}
}

// long searches one line too long for memory as it is read, and returns where the next one begins.
func (g *search) long(at int64) (int64, error) {
	next, err := g.v.Index.start(g.v.r, g.line+1)
	if err != nil {
		return 0, err
	}
	end := next
	if int64(g.line) <= g.v.Index.Feeds {
		end-- // its feed
	}
	source := &runeReader{Reader: bufio.NewReaderSize(io.NewSectionReader(g.v.r, at, end-at), blockSize)}
	found := g.re.FindReaderIndex(source)
	if source.err != nil && !errors.Is(source.err, io.EOF) {
		return 0, source.err
	}
	if (found == nil) == g.q.Invert {
		h := hit{line: g.line, at: at}
		if found != nil {
			h.match = int64(found[0])
		}
		g.found(h)
	}
	g.line++
	return next, nil
}

func lineCount(b []byte) int {
	n := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

func (g *search) found(h hit) {
	g.count++
	switch {
	case len(g.hits) < g.q.Limit:
		g.hits = append(g.hits, h)
	case g.next == 0:
		g.next = h.line
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
		to = min(h.line+g.q.Context, g.v.Index.lines())
		if i+1 < len(g.hits) {
			to = min(to, g.hits[i+1].line-1)
		}
	}
	var out []string
	if g.q.Context > 0 && written > 0 && from > written+1 {
		out = append(out, "---")
	}
	lines, err := newLineReader(g.v.r, g.v.Index, from)
	if err != nil {
		return "", 0, err
	}
	for n := from; n <= to; n++ {
		line, err := lines.read()
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
func (g *search) around(line textLine, match int64) (string, error) {
	if end := runes(line.head, maxShownLine); match < int64(end) && (line.size == int64(end) || match < int64(end)*2/3) {
		return shown(line), nil
	}
	const before, most = 400, 1600 // bytes read on both sides of the match
	from := max(match-before, 0)
	buf := make([]byte, min(line.size, match+most)-from)
	if err := readAt(g.v.r, buf, line.at+from); err != nil {
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
	if rest := line.size - from - int64(start+length); rest > 0 {
		text += fmt.Sprintf("…[+%d bytes at offset %d]", rest, line.at+from+int64(start+length))
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
