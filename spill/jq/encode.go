package jq

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
)

// encoder writes values of gojq as JSON, up to a limit.
type encoder struct {
	out   []byte
	limit int
	ranks map[string]int // order of keys; others come behind by name
	keys  []string
}

// encode appends v.
func (e *encoder) encode(v any, depth int) error {
	if len(e.out) > e.limit || depth > 10000 {
		return fmt.Errorf("the outcome has more than %d bytes or levels: %w", e.limit, fault.ErrTooLarge)
	}
	switch v := v.(type) {
	case nil:
		e.out = append(e.out, "null"...)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case int:
		e.out = strconv.AppendInt(e.out, int64(v), 10)
	case float64:
		e.float(v)
	case *big.Int:
		e.out = v.Append(e.out, 10)
	case json.Number:
		e.out = append(e.out, v...)
	case string:
		e.out = rawjson.AppendQuote(e.out, v)
	case []any:
		return e.list(v, depth)
	case map[string]any:
		return e.object(v, depth)
	default:
		return fmt.Errorf("%w: jq: a value of type %T", fault.ErrBadQuery, v)
	}
	return nil
}

// float writes what is no number as null and keeps infinities within the numbers, as jq does.
func (e *encoder) float(f float64) {
	if math.IsNaN(f) {
		e.out = append(e.out, "null"...)
		return
	}
	f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
	format := byte('f')
	if x := math.Abs(f); x != 0 && x < 1e-6 || x >= 1e17 {
		format = 'e'
	}
	e.out = strconv.AppendFloat(e.out, f, format, -1, 64)
}

func (e *encoder) list(v []any, depth int) error {
	e.out = append(e.out, '[')
	for i, x := range v {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.encode(x, depth+1); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) object(v map[string]any, depth int) error {
	base := len(e.keys)
	for k := range v {
		e.keys = append(e.keys, k)
	}
	keys := e.keys[base:]
	slices.SortFunc(keys, func(a, b string) int {
		i, ranked := e.ranks[a]
		j, other := e.ranks[b]
		switch {
		case ranked && other:
			return i - j
		case ranked:
			return -1
		case other:
			return 1
		}
		return strings.Compare(a, b)
	})
	e.out = append(e.out, '{')
	for i := range len(keys) {
		k := e.keys[base+i] // deeper objects may move the slice
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.out = append(rawjson.AppendQuote(e.out, k), ':')
		if err := e.encode(v[k], depth+1); err != nil {
			return err
		}
	}
	e.keys = e.keys[:base]
	e.out = append(e.out, '}')
	return nil
}
