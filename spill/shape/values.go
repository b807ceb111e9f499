package shape

import (
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
)

// values is what is noted of the scalars at one place.
type values struct {
	texts    int      // strings seen
	distinct []string // the first few of them
	many     bool     // there were more, or long ones
	dates    int      // that look like a day,
	times    int      // or a day with a time
	low      string   // of those
	high     string
	least    number // of all numbers
	most     number
}

// number is a number with its spelling.
type number struct {
	value float64
	spelt string
}

const (
	maxDistinct = 8  // values of an enum
	maxEnum     = 24 // bytes of one
)

// saying is how much a shape says of values.
type saying int

const (
	nothing saying = iota // their types
	few                   // and enums
	ranges                // and between what they lie
)

// add notes a scalar and returns the name of its type.
func (v *values) add(raw []byte) string {
	switch raw[0] {
	case '"':
		v.text(rawjson.Text(raw))
		return "str"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	spelt := string(raw)
	f, _ := strconv.ParseFloat(spelt, 64) // out of range is infinite, which compares well
	n := number{f, spelt}
	if v.least.spelt == "" || f < v.least.value {
		v.least = n
	}
	if v.most.spelt == "" || f > v.most.value {
		v.most = n
	}
	if strings.ContainsAny(spelt, ".eE") {
		return "num"
	}
	return "int"
}

func (v *values) text(s []byte) {
	v.texts++
	if day, clock := dateLike(s); day {
		v.dates++
		if clock {
			v.times++
		}
		if d := string(s[:10]); v.low == "" {
			v.low, v.high = d, d
		} else {
			v.low, v.high = min(v.low, d), max(v.high, d)
		}
	}
	if v.many {
		return
	}
	for _, known := range v.distinct {
		if known == string(s) {
			return
		}
	}
	if len(v.distinct) == maxDistinct || len(s) > maxEnum {
		v.many, v.distinct = true, nil
		return
	}
	v.distinct = append(v.distinct, string(s))
}

// dateLike tells whether a text begins with a day as in 2006-01-02, and goes on with a time.
func dateLike(s []byte) (day, clock bool) {
	if len(s) < 10 || len(s) > 40 || s[4] != '-' || s[7] != '-' || s[5] > '1' || s[8] > '3' {
		return false, false
	}
	for _, i := range []int{0, 1, 2, 3, 5, 6, 8, 9} {
		if s[i] < '0' || s[i] > '9' {
			return false, false
		}
	}
	if len(s) == 10 {
		return true, false
	}
	clock = len(s) >= 16 && (s[10] == 'T' || s[10] == ' ') && s[13] == ':'
	return clock, clock
}

// enum tells whether the texts are few ones, again and again.
func (v *values) enum() bool { return v.texts > 0 && !v.many && v.texts >= 2*len(v.distinct)+2 }

// render says what there is of a type.
func (v *values) render(name string, say saying) string {
	switch {
	case say == nothing:
	case name == "str" && v.dates == v.texts:
		name = "date"
		if v.times == v.texts {
			name = "datetime"
		}
		if say == ranges && v.low != v.high {
			name += " " + v.low + "…" + v.high
		}
	case name == "str" && v.enum():
		var quoted []string
		for _, d := range v.distinct {
			quoted = append(quoted, strconv.Quote(brief.Clip(d, maxEnum)))
		}
		return strings.Join(quoted, "|")
	case (name == "int" || name == "num") && say == ranges && v.least.spelt != v.most.spelt && len(v.least.spelt)+len(v.most.spelt) < 40:
		name += " " + v.least.spelt + "…" + v.most.spelt
	}
	return name
}
