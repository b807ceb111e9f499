package rawjson

import (
	"fmt"
	"strings"
	"testing"
)

func TestEach(t *testing.T) {
	for _, tc := range []struct {
		name, in, want string
		fault          bool
	}{
		{name: "object", in: `{"a":1, "b" : [2,{"c":3}]}`, want: `"a"=1 "b"=[2,{"c":3}]`},
		{name: "array", in: `[ 1 ,"x",{}]`, want: `=1 ="x" ={}`},
		{name: "empty", in: `{ }`},
		{name: "no container", in: `1`, fault: true},
		{name: "open", in: `{"a":1`, want: `"a"=1`, fault: true},
		{name: "no colon", in: `{"a" 1}`, fault: true},
		{name: "no key", in: `{1:1}`, fault: true},
		{name: "comma at the end", in: `[1,]`, want: `=1`, fault: true},
		{name: "wrong bracket", in: `[1}`, want: `=1`, fault: true},
		{name: "nothing", in: ``, fault: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			end := Each([]byte(tc.in), 0, func(key Span, at int) int {
				to := Skip([]byte(tc.in), at)
				if to >= 0 {
					got = append(got, fmt.Sprintf("%s=%s", key.Of([]byte(tc.in)), tc.in[at:to]))
				}
				return to
			})
			if s := strings.Join(got, " "); s != tc.want {
				t.Errorf("got %s, want %s", s, tc.want)
			}
			if want := len(tc.in); !tc.fault && end != want || tc.fault && end >= 0 {
				t.Errorf("got end %d, want %d (fault %v)", end, want, tc.fault)
			}
		})
	}
}

// FuzzEach holds that Each agrees with Skip on where a value ends, and never panics.
func FuzzEach(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"\"x"}]}`, `[[],{},""]`, `{"a":}`, `[`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		raw := []byte(in)
		var deep func(key Span, at int) int
		deep = func(_ Span, at int) int {
			if at < len(raw) && (raw[at] == '{' || raw[at] == '[') {
				return Each(raw, at, deep)
			}
			return Skip(raw, at)
		}
		got, want := deep(Span{}, 0), Skip(raw, 0)
		if got != want && (got >= 0 || want >= 0) {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	})
}
