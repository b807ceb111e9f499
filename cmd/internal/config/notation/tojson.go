package notation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// JSON writes a value as JSON: keys in file order, numbers as they are spelled where that is JSON. text gives what is
// to stand for a text.
func (n *Node) JSON(text func(*Node) string) (json.RawMessage, error) {
	var b bytes.Buffer
	err := n.writeJSON(&b, text)
	return b.Bytes(), err
}

func (n *Node) writeJSON(b *bytes.Buffer, text func(*Node) string) error {
	switch n.Kind {
	case Mapping:
		b.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, m.Key)
			b.WriteByte(':')
			if err := m.Value.writeJSON(b, text); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := item.writeJSON(b, text); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case Text:
		quote(b, text(n))
	case Number:
		s, err := jsonNumber(n.Text)
		b.WriteString(s)
		return err
	case Bool:
		b.WriteString(strconv.FormatBool(strings.EqualFold(n.Text, "true")))
	default:
		b.WriteString("null")
	}
	return nil
}

func quote(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text never fails
	b.Truncate(b.Len() - 1)
}

// jsonNumber spells a number of any notation as JSON has it.
func jsonNumber(s string) (string, error) {
	if json.Valid([]byte(s)) {
		return s, nil
	}
	plain := strings.ReplaceAll(s, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return strconv.FormatInt(i, 10), nil
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err == nil {
		if v, err := json.Marshal(f); err == nil {
			return string(v), nil
		}
	}
	return "null", fmt.Errorf("%q is no number that JSON has", s)
}
