package jq

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// For jq, data is decoded into the types gojq works on, and encoded again. What the program does not touch keeps its
// spelling: a number becomes an int or a float64 only where that writes itself the same way, and the keys of objects
// come out in the order in which the data first had them.

// maxRanked bounds how many keys are remembered in their order.
const maxRanked = 10000

var errNotJSON = errors.New("not valid JSON")

// decoder reads JSON. Its strings are parts of s, not copies.
type decoder struct {
	s     string
	i     int
	known map[string]string // short strings, each once, where only parts are needed; nil where all of s is held on to
	ranks map[string]int    // keys in the order in which they first appeared
	last  [16][]string      // by depth, keys of the object read last: the next one often has the same
}

// decode returns what is needed of the value s holds, and the ranks of its keys.
func decode(s string, n *need) (any, map[string]int, error) {
	d := &decoder{s: s, ranks: map[string]int{}}
	if !n.whole {
		d.known = map[string]string{}
	}
	v, err := d.value(n, 0)
	if d.space(); err == nil && d.i != len(s) {
		err = errNotJSON
	}
	return v, d.ranks, err
}

func (d *decoder) space() {
	for d.i < len(d.s) && rawjson.IsSpace(d.s[d.i]) {
		d.i++
	}
}

func (d *decoder) value(n *need, depth int) (any, error) {
	d.space()
	if d.i >= len(d.s) || depth > rawjson.MaxDepth {
		return nil, errNotJSON
	}
	switch d.s[d.i] {
	case '{':
		return d.object(n, depth)
	case '[':
		return d.list(n, depth)
	case '"':
		s, err := d.text()
		return d.held(s), err
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	}
	return d.number()
}

func (d *decoder) word(w string) error {
	if !strings.HasPrefix(d.s[d.i:], w) {
		return errNotJSON
	}
	d.i += len(w)
	return nil
}

// after goes over the comma or the closing bracket behind a member; more says that another one follows.
func (d *decoder) after(closing byte) (more bool, err error) {
	d.space()
	if d.i >= len(d.s) || d.s[d.i] != ',' && d.s[d.i] != closing {
		return false, errNotJSON
	}
	d.i++
	return d.s[d.i-1] == ',', nil
}

func (d *decoder) empty(closing byte) bool {
	d.i++
	d.space()
	if d.i < len(d.s) && d.s[d.i] == closing {
		d.i++
		return true
	}
	return false
}

// held is a string that does not hold on to the whole text, where only parts of that are needed.
func (d *decoder) held(s string) string {
	const short, most = 64, 4096
	if d.known == nil {
		return s
	}
	if len(s) > short {
		return strings.Clone(s)
	}
	known, ok := d.known[s]
	if !ok {
		known = strings.Clone(s)
		if len(d.known) < most {
			d.known[known] = known
		}
	}
	return known
}

func (d *decoder) list(n *need, depth int) (any, error) {
	if !n.whole && !n.listed {
		return []any{}, d.skip()
	}
	elem := n
	if !n.whole {
		elem = n.element()
	}
	list := []any{}
	if d.empty(']') {
		return list, nil
	}
	for more := true; more; {
		v, err := d.value(elem, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if more, err = d.after(']'); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (d *decoder) object(n *need, depth int) (any, error) {
	if n.listed { // its members are gone through
		n = everything
	}
	if !n.whole && len(n.members) == 0 {
		return map[string]any{}, d.skip()
	}
	if d.empty('}') {
		return map[string]any{}, nil
	}
	last := d.last[depth%len(d.last)]
	room := len(last)
	if !n.whole {
		room = min(room, len(n.members))
	}
	object := make(map[string]any, room)
	var keys []string
	same := last
	for more := true; more; {
		d.space()
		key, err := d.text()
		if err != nil {
			return nil, err
		}
		if len(same) > 0 && same[0] == key {
			same = same[1:]
		} else {
			if keys == nil {
				keys = append(make([]string, 0, len(last)+4), last[:len(last)-len(same)]...)
			}
			same = nil
			d.rank(key)
		}
		if keys != nil && len(keys) < 256 {
			keys = append(keys, key)
		}
		if d.space(); d.i >= len(d.s) || d.s[d.i] != ':' {
			return nil, errNotJSON
		}
		d.i++
		if err := d.member(n, object, key, depth); err != nil {
			return nil, err
		}
		if more, err = d.after('}'); err != nil {
			return nil, err
		}
	}
	if keys != nil {
		d.last[depth%len(d.last)] = keys
	}
	return object, nil
}

// everything is the need of a whole value.
var everything = &need{whole: true}

// member reads the value of a member, if it is needed.
func (d *decoder) member(n *need, object map[string]any, key string, depth int) error {
	child := n
	if !n.whole {
		if child = n.members[key]; child == nil {
			return d.skip()
		}
	}
	v, err := d.value(child, depth+1)
	object[d.held(key)] = v
	return err
}

// skip passes a value that is not needed. It is part of a text that is valid JSON.
func (d *decoder) skip() error {
	for depth := 0; ; {
		d.space()
		if d.i >= len(d.s) {
			return errNotJSON
		}
		switch c := d.s[d.i]; c {
		case '"':
			if err := d.skipText(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			d.i++
		case '}', ']':
			depth--
			d.i++
		case ',', ':':
			d.i++
			continue
		default:
			for d.i < len(d.s) && strings.IndexByte(",:]} \t\r\n", d.s[d.i]) < 0 {
				d.i++
			}
		}
		if depth <= 0 {
			return nil
		}
	}
}

func (d *decoder) rank(key string) {
	if _, known := d.ranks[key]; !known && len(d.ranks) < maxRanked {
		d.ranks[d.held(key)] = len(d.ranks)
	}
}

// text reads a string.
func (d *decoder) text() (string, error) {
	if d.i >= len(d.s) || d.s[d.i] != '"' {
		return "", errNotJSON
	}
	from := d.i + 1
	if err := d.skipText(); err != nil {
		return "", err
	}
	end := d.i - 1
	if s := d.s[from:end]; strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	return string(rawjson.Text([]byte(d.s[from-1 : end+1]))), nil
}

// skipText goes behind the string that begins here.
func (d *decoder) skipText() error {
	for at := d.i + 1; ; {
		n := strings.IndexByte(d.s[at:], '"')
		if n < 0 {
			return errNotJSON
		}
		end := at + n
		back := end
		for d.s[back-1] == '\\' {
			back--
		}
		if (end-back)%2 == 0 {
			d.i = end + 1
			return nil
		}
		at = end + 1
	}
}

// powers of ten that a float64 holds exactly
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// number reads a number. A whole one of up to 18 digits is an int. One with a point and up to 15 digits that does not
// end in 0 is the shortest spelling of its float64, and its digits and the power of ten are exact. All others stay as
// they are spelt.
func (d *decoder) number() (any, error) {
	from, i := d.i, d.i
	if d.s[i] == '-' {
		i++
	}
	first := i
	n, point := 0, -1
	for ; i < len(d.s); i++ {
		c := d.s[i]
		if c == '.' && point < 0 && i > first {
			point = i
			continue
		}
		if c < '0' || c > '9' || i-first > 18 {
			break
		}
		n = n*10 + int(c-'0')
	}
	d.i = i
	if ended := i == len(d.s) || rawjson.IsSpace(d.s[i]) || strings.IndexByte(",]}", d.s[i]) >= 0; !ended || i == first {
		return d.spelt(from)
	}
	negative, zero := first > from, d.s[first] == '0'
	switch {
	case point < 0 && (!zero || i == first+1 && !negative):
		if negative {
			n = -n
		}
		return n, nil
	case point > 0 && point < i-1 && i-1-first <= 15 && d.s[i-1] != '0' && (!zero || point == first+1) && (n >= 1000 || i-1-point < 6):
		f := float64(n) / powers[i-1-point]
		if negative {
			f = -f
		}
		return f, nil
	}
	return d.spelt(from)
}

// spelt reads a number as it stands there.
func (d *decoder) spelt(from int) (any, error) {
	for d.i < len(d.s) && strings.IndexByte("0123456789+-.eE", d.s[d.i]) >= 0 {
		d.i++
	}
	n := d.s[from:d.i]
	if _, err := strconv.ParseFloat(n, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, errNotJSON
	}
	return json.Number(n), nil
}
