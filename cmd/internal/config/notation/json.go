package notation

import (
	"bytes"
	"regexp"
	"sort"
	"strconv"

	"github.com/tailscale/hujson"
)

// ParseJSON is Parse for JSON with comments and trailing commas.
func ParseJSON(data []byte) (*Node, []Fault) {
	if deep(data) {
		return nil, []Fault{{1, tooDeep}}
	}
	v, err := hujson.Parse(data)
	if err != nil {
		line, msg := jsonPosition(err.Error())
		return nil, []Fault{{line, "not valid JSON: " + msg}}
	}
	c := jsonConverter{lines: lineStarts(data)}
	return c.node(&v), c.faults
}

type jsonConverter struct {
	faults
	lines []int
}

func (c *jsonConverter) node(v *hujson.Value) *Node {
	n := &Node{Line: c.line(v.StartOffset)}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.Kind = Mapping
		seen := make(map[string]int, len(t.Members))
		for i := range t.Members {
			m := &t.Members[i]
			key, _ := m.Name.Value.(hujson.Literal)
			n.insert(Member{key.String(), c.line(m.Name.StartOffset), c.node(&m.Value)}, seen, &c.faults)
		}
	case *hujson.Array:
		n.Kind = List
		for i := range t.Elements {
			n.Items = append(n.Items, c.node(&t.Elements[i]))
		}
	case hujson.Literal:
		n.Kind, n.Text = literalKind(t), t.String()
	}
	return n
}

func literalKind(l hujson.Literal) Kind {
	switch l.Kind() {
	case '"':
		return Text
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// line returns the 1-based line of a byte offset.
func (c *jsonConverter) line(offset int) int {
	return sort.SearchInts(c.lines, offset+1)
}

// lineStarts returns the offset at which each line starts.
func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

var jsonAt = regexp.MustCompile(`^hujson: line (\d+), column (\d+): (.*)$`)

// jsonPosition splits the parser's message into its line and its words.
func jsonPosition(msg string) (int, string) {
	m := jsonAt.FindStringSubmatch(msg)
	if m == nil {
		return 0, msg
	}
	line, _ := strconv.Atoi(m[1])
	return line, m[3] + " (column " + m[2] + ")"
}

// deep says whether brackets nest beyond the limit, looking before a recursive parser does.
func deep(data []byte) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '/':
			i = skipComment(data, i)
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// skipString returns the offset of the quote that ends the string starting at i.
func skipString(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// skipComment returns the offset of the last byte of a comment starting at i, or i if none does.
func skipComment(data []byte, i int) int {
	ends := ""
	switch rest := data[i:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		ends = "\n"
	case bytes.HasPrefix(rest, []byte("/*")):
		ends = "*/"
	default:
		return i
	}
	end := bytes.Index(data[i+2:], []byte(ends))
	if end < 0 {
		return len(data)
	}
	return i + 2 + end + len(ends) - 1
}
