package spill

import (
	"context"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/grep"
)

// readGrep searches the lines FromLine to ToLine, counts all hits and shows the first of them.
func (s *Shelf) readGrep(ctx context.Context, answer *Answer, v *view, q Query) error {
	pattern, err := grep.Compile(q.Pattern)
	if err != nil {
		return err
	}
	answer.Pattern = q.Pattern
	last := answer.TotalLines
	if q.ToLine > 0 {
		last = min(q.ToLine, last)
	}
	search := grep.Search{Pattern: pattern, Text: v.r, Index: v.Index, From: q.FromLine, To: last, Invert: q.Invert, Limit: q.Limit}
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.GrepTime, fmt.Errorf("%w: grep: stopped after %s; narrow it with fromLine, toLine or path", ErrTooLarge, s.o.GrepTime))
	defer cancel()
	found, err := search.Run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	answer.MatchCount = found.Count
	return (&hits{found, q, v}).show(answer)
}

// hits are what a search found, to be shown.
type hits struct {
	grep.Found
	q Query
	v *view
}

// show writes the hits with the lines around them, neighbours as one group.
func (g *hits) show(answer *Answer) error {
	var out strings.Builder
	written := 0 // last line written
	for i, h := range g.Hits {
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
				if len(g.Hits) > 1 {
					h = g.Hits[1]
				}
			}
			answer.Truncated = true
			if g.Next = h.Line; i == 0 && len(g.Hits) < 2 {
				g.Next = 0
			}
			break
		}
		out.WriteString(block)
		written = last
		answer.ReturnedMatches++
	}
	answer.Text = out.String()
	answer.NextLine = g.Next
	answer.Truncated = answer.Truncated || g.Next > 0
	answer.Lines = strings.Count(answer.Text, "\n")
	if answer.Text != "" {
		answer.Lines++
	}
	return nil
}

// group renders one hit: what of its context was not written yet, the line itself, and the lines behind
// it up to the next hit, which brings its own.
func (g *hits) group(h grep.Hit, i, written int) (string, int, error) {
	from, to := max(h.Line-g.q.Context, written+1, 1), h.Line
	if g.q.Context > 0 {
		to = min(h.Line+g.q.Context, g.v.Index.Lines())
		if i+1 < len(g.Hits) {
			to = min(to, g.Hits[i+1].Line-1)
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
		if n != h.Line {
			out = append(out, fmt.Sprintf("%d- %s", n, shown(line)))
			continue
		}
		text, err := g.around(line, h.Match)
		if err != nil {
			return "", 0, err
		}
		out = append(out, fmt.Sprintf("%d: %s", n, text))
	}
	return strings.Join(out, "\n"), to, nil
}

// around shows a line clipped so that the match is in it.
func (g *hits) around(line byline.Line, match int64) (string, error) {
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
