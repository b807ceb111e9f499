package composite

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// condition is a compiled When.
type condition struct {
	left, right *value // right is nil where left alone decides
	op          string
	not         bool
}

var comparison = regexp.MustCompile(`^(.*?)\s+(==|!=|<=|>=|<|>)\s+(.*)$`)

func (c *compiler) condition(s Step) *condition {
	where := "step " + s.Name + ": when"
	operand := func(text string) *value {
		raw := literal(strings.TrimSpace(text))
		return c.value(raw, s.Line, where, false)
	}
	if m := comparison.FindStringSubmatch(s.When); m != nil {
		return &condition{left: operand(m[1]), op: m[2], right: operand(m[3])}
	}
	text, not := strings.CutPrefix(strings.TrimSpace(s.When), "!")
	return &condition{left: operand(text), not: not}
}

// holds decides. What is absent is not true, and equal to null only.
func (c *condition) holds(s *scope) (bool, error) {
	left, err := c.left.fill(s)
	if err != nil {
		return false, err
	}
	if c.right == nil {
		return truth(left) != c.not, nil
	}
	right, err := c.right.fill(s)
	if err != nil {
		return false, err
	}
	order, comparable := compare(left, right)
	switch c.op {
	case "==":
		return comparable && order == 0 || equal(left, right), nil
	case "!=":
		return !(comparable && order == 0 || equal(left, right)), nil
	case "<":
		return comparable && order < 0, nil
	case "<=":
		return comparable && order <= 0, nil
	case ">":
		return comparable && order > 0, nil
	}
	return comparable && order >= 0, nil
}

// truth is false for what is absent, null, false, 0, "", [] and {}.
func truth(v json.RawMessage) bool {
	switch v = rawjson.Compact(bytes.TrimSpace(v)); string(v) {
	case "", "null", "false", `""`, "[]", "{}":
		return false
	}
	if n, ok := number(v); ok {
		return n.Sign() != 0
	}
	return true
}

func equal(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return string(append(a, b...)) == "" || string(append(a, b...)) == "null"
	}
	return bytes.Equal(rawjson.Compact(bytes.TrimSpace(a)), rawjson.Compact(bytes.TrimSpace(b)))
}

// compare orders two numbers or two texts.
func compare(a, b json.RawMessage) (int, bool) {
	if x, ok := number(a); ok {
		y, ok := number(b)
		if !ok {
			return 0, false
		}
		return x.Cmp(y), true
	}
	x, y := bytes.TrimSpace(a), bytes.TrimSpace(b)
	if len(x) == 0 || len(y) == 0 || x[0] != '"' || y[0] != '"' {
		return 0, false
	}
	return strings.Compare(rawjson.Unquote(x), rawjson.Unquote(y)), true
}

func number(v json.RawMessage) (*big.Float, bool) {
	v = bytes.TrimSpace(v)
	if len(v) == 0 || len(v) > 100 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return nil, false
	}
	f, _, err := big.ParseFloat(string(v), 10, 200, big.ToNearestEven)
	return f, err == nil
}
