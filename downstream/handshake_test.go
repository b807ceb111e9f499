package downstream

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestOffersAfterAll(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want bool
	}{
		{"no error", nil, false},
		{"not an answer", errors.New("connection refused"), false},
		{"another refusal", &RPCError{Code: -32601, Data: json.RawMessage(`{"supported":["2026-07-28"]}`)}, false},
		{"refused and offered", &RPCError{Code: -32022, Data: json.RawMessage(`{"supported":["2027-01-01","2026-07-28"],"requested":"2026-07-28"}`)}, true},
		{"refused", &RPCError{Code: -32022, Data: json.RawMessage(`{"supported":["2027-01-01"]}`)}, false},
		{"without data", &RPCError{Code: -32022}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := offersAfterAll(c.err); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
