package spill

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
)

// defaultSample is how many records op sample shows.
const defaultSample = 10

// readShape shows the inferred schema at length. It takes the whole data in memory.
func readShape(answer *Answer, v *view, q Query) error {
	if !v.JSON {
		about, err := v.describe()
		if err != nil {
			return err
		}
		answer.Shape = about.Kind
		answer.Text = clipText(fmt.Sprintf("%s, not JSON: %d lines, the longest has %d bytes\nfirst: %s", about.Kind, answer.TotalLines, answer.LongestLine, about.Sample), q.Budget)
		return nil
	}
	data, err := v.all(maxNarrow)
	if err != nil {
		return fmt.Errorf("shape: %w; narrow it with path", err)
	}
	answer.Shape = shape.Long(data, q.Budget)
	answer.Text = clipText(answer.Shape, q.Budget)
	answer.Lines = strings.Count(answer.Text, "\n") + 1
	return nil
}

// readSample shows records spread evenly over a list, or lines over a text, with their numbers: the first, the last,
// and others between.
func readSample(answer *Answer, v *view, q Query) error {
	if v.JSON && v.rows == 0 {
		return fmt.Errorf("%w: sample: the data is no list of records; narrow it with path or jq", ErrBadQuery)
	}
	if v.JSON && answer.TotalLines != v.rows {
		return sampleElements(answer, v, q)
	}
	var out strings.Builder
	for _, n := range spread(q.Lines, answer.TotalLines) {
		lines, err := byline.NewReader(v.r, v.Index, n)
		if err != nil {
			return err
		}
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if v.JSON {
			line = bare(line, n == 1)
		}
		if !addSample(answer, &out, fmt.Sprintf("%d: %s", n, shown(line)), q) {
			break
		}
	}
	answer.Text = out.String()
	return nil
}

// bare takes off what the list puts around a record.
func bare(line byline.Line, first bool) byline.Line {
	if first && len(line.Head) > 0 && line.Head[0] == '[' {
		line.Head, line.At, line.Size = line.Head[1:], line.At+1, line.Size-1
	}
	if n := len(line.Head); n > 0 && int64(n) == line.Size && (line.Head[n-1] == ',' || line.Head[n-1] == ']') {
		line.Head, line.Size = line.Head[:n-1], line.Size-1
	}
	return line
}

// sampleElements is for a list whose elements are not on a line each.
func sampleElements(answer *Answer, v *view, q Query) error {
	data, err := v.all(maxNarrow)
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	wanted := spread(q.Lines, v.rows)
	var out strings.Builder
	n := 0
	for element := range rawjson.Elements(data) {
		if n++; len(wanted) == 0 || n != wanted[0] {
			continue
		}
		wanted = wanted[1:]
		element = rawjson.Compact(element)
		text := valid(element[:runes(element, maxShownLine)])
		if missing := len(element) - len(text); missing > 0 {
			text += fmt.Sprintf("…[+%d bytes]", missing)
		}
		if !addSample(answer, &out, fmt.Sprintf("%d: %s", n, text), q) {
			break
		}
	}
	answer.Text = out.String()
	return nil
}

// addSample adds one record, if the budget takes it.
func addSample(answer *Answer, out *strings.Builder, text string, q Query) bool {
	if answer.Lines > 0 && out.Len()+len(text)+1 > q.Budget {
		answer.Truncated = true
		return false
	}
	if answer.Lines > 0 {
		out.WriteByte('\n')
	}
	out.WriteString(clipText(text, q.Budget))
	answer.Lines++
	return true
}

// spread returns n numbers from 1 to total, the ends among them.
func spread(n, total int) []int {
	n = min(n, total)
	if n == 1 {
		return []int{1}
	}
	numbers := make([]int, 0, n)
	for i := range n {
		numbers = append(numbers, 1+i*(total-1)/(n-1))
	}
	return numbers
}
