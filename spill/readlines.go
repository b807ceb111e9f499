package spill

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
)

// maxShownLine is how many characters of a line are shown.
const maxShownLine = 300

// readLines shows the lines FromLine to ToLine, as many as the budget takes.
func readLines(answer *Answer, v *view, q Query) error {
	total := answer.TotalLines
	if total == 0 && q.FromLine == 1 {
		return nil
	}
	if q.FromLine > total {
		return fmt.Errorf("%w: fromLine: %d is behind the last line, %d", ErrBadQuery, q.FromLine, total)
	}
	last := min(q.ToLine, total)
	lines, err := byline.NewReader(v.r, v.Index, q.FromLine)
	if err != nil {
		return err
	}
	var out strings.Builder
	answer.FromLine = q.FromLine
	for n := q.FromLine; n <= last; n++ {
		line, err := lines.Read()
		if err != nil {
			return err
		}
		text := shown(line)
		if n > q.FromLine && out.Len()+len(text)+1 > q.Budget {
			answer.Truncated, answer.NextLine = true, n
			break
		}
		if n > q.FromLine {
			out.WriteByte('\n')
		} else if len(text) > q.Budget {
			text = cutLine(answer, line, q.Budget)
		}
		out.WriteString(text)
		answer.Lines, answer.ToLine = answer.Lines+1, n
	}
	answer.Text = out.String()
	if q.Op == "head" && last < total && answer.NextLine == 0 {
		answer.NextLine = last + 1
	}
	return nil
}

// cutLine shows what the budget takes of a line, when it does not take even the usual.
func cutLine(answer *Answer, line byline.Line, budget int) string {
	n := startOfRune(line.Head, min(len(line.Head), budget))
	answer.Truncated, answer.NextOffset = true, line.At+int64(n)
	return valid(line.Head[:n])
}

// readTail shows the last lines; if the budget does not take them all, the last of them.
func readTail(answer *Answer, v *view, q Query) error {
	total := answer.TotalLines
	first := max(total-q.Lines+1, 1)
	const step = 256
	var shownLines []string // the last one first
	size := 0
	for high := total; high >= first; high -= step {
		low := max(high-step+1, first)
		texts, err := shownRange(v, low, high)
		if err != nil {
			return err
		}
		for i := len(texts) - 1; i >= 0; i-- {
			size += len(texts[i]) + 1
			if size > q.Budget+1 && len(shownLines) > 0 {
				answer.Truncated, answer.NextLine = true, first
				high = 0
				break
			}
			shownLines = append(shownLines, clipText(texts[i], q.Budget))
		}
	}
	answer.Lines = len(shownLines)
	if answer.Lines > 0 {
		answer.FromLine, answer.ToLine = total-answer.Lines+1, total
	}
	for i, j := 0, len(shownLines)-1; i < j; i, j = i+1, j-1 {
		shownLines[i], shownLines[j] = shownLines[j], shownLines[i]
	}
	answer.Text = strings.Join(shownLines, "\n")
	return nil
}

func shownRange(v *view, low, high int) ([]string, error) {
	lines, err := byline.NewReader(v.r, v.Index, low)
	if err != nil {
		return nil, err
	}
	var texts []string
	for n := low; n <= high; n++ {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, shown(line))
	}
	return texts, nil
}

// shown is a line as answers have it: at most 300 characters, then how much is missing and where it is.
func shown(line byline.Line) string {
	end := runes(line.Head, maxShownLine)
	missing := line.Size - int64(end)
	if missing == 0 {
		return valid(line.Head[:end])
	}
	return fmt.Sprintf("%s…[+%d bytes at offset %d]", valid(line.Head[:end]), missing, line.At+int64(end))
}

// runes returns the length of the first n characters of b.
func runes(b []byte, n int) (end int) {
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return end
}
