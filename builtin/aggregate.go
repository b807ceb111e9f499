package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// mostGroups bounds the answer of aggregate_rows.
const mostGroups = 1000

type aggregateArgs struct {
	Rows    []map[string]json.RawMessage
	GroupBy string
	Sum     string
}

type group struct {
	Key   *string  `json:"key,omitempty"`
	Count int      `json:"count"`
	Sum   *float64 `json:"sum,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	Mean  *float64 `json:"mean,omitempty"`
}

type aggregateAnswer struct {
	Total   group   `json:"total"`
	GroupBy string  `json:"groupBy,omitempty"`
	Sum     string  `json:"sum,omitempty"`
	Groups  []group `json:"groups,omitempty"`
	Left    int     `json:"groupsLeftOut,omitempty"`
}

// aggregate counts and sums the rows it is given.
func aggregate(_ context.Context, raw json.RawMessage) (any, error) {
	args, err := read[aggregateArgs](raw)
	if err != nil {
		return nil, err
	}
	if args.Rows == nil {
		return nil, errors.New("rows is missing: give an array of records")
	}
	a := aggregateAnswer{GroupBy: args.GroupBy, Sum: args.Sum}
	groups := map[string]*group{}
	for i, row := range args.Rows {
		var value *float64
		if args.Sum != "" {
			if value, err = number(row[args.Sum]); err != nil {
				return nil, fmt.Errorf("rows[%d].%s: %w", i, args.Sum, err)
			}
		}
		a.Total.add(value)
		if args.GroupBy == "" {
			continue
		}
		key := keyOf(row[args.GroupBy])
		g := groups[key]
		if g == nil {
			g = &group{Key: &key}
			groups[key] = g
		}
		g.add(value)
	}
	a.Total.finish()
	for _, g := range groups {
		g.finish()
		a.Groups = append(a.Groups, *g)
	}
	slices.SortFunc(a.Groups, func(x, y group) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(*x.Key, *y.Key))
	})
	if len(a.Groups) > mostGroups {
		a.Left = len(a.Groups) - mostGroups
		a.Groups = a.Groups[:mostGroups]
	}
	return a, nil
}

// number reads a value to be summed; absent and null do not count.
func number(raw json.RawMessage) (*float64, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var v float64
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, errors.New("not a number")
	}
	return &v, nil
}

// keyOf is the group of a value: a string's own text, else its JSON.
func keyOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}

func (g *group) add(v *float64) {
	g.Count++
	if v == nil {
		return
	}
	if g.Sum == nil {
		g.Sum, g.Min, g.Max = new(float64), new(float64), new(float64)
		*g.Min, *g.Max = *v, *v
		g.Mean = new(float64) // counts the values until finish
	}
	*g.Sum += *v
	*g.Min = min(*g.Min, *v)
	*g.Max = max(*g.Max, *v)
	*g.Mean++
}

// finish rounds away what adding binary fractions of decimals leaves over.
func (g *group) finish() {
	if g.Sum == nil {
		return
	}
	*g.Mean = round(*g.Sum / *g.Mean)
	*g.Sum = round(*g.Sum)
}

func round(v float64) float64 {
	if r := math.Round(v*1e6) / 1e6; !math.IsInf(r, 0) {
		return r
	}
	return v
}
