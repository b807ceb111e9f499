package dispatch

import (
	"fmt"
	"strings"
	"testing"
)

// TestPages reads a tool page by page: five pages of two items.
func TestPages(t *testing.T) {
	const pages = `"pages":{"send":"cursor","next":".next","items":".items"}`
	for _, tc := range []struct {
		name, in string
		want     []string
		isError  bool
		sent     int
	}{
		{name: "to the end", in: `{"action":"call","tool":"paged",` + pages + `}`, want: []string{`[{"n":0},{"n":0.50},{"n":1},`, `{"n":4.50}]`}, sent: 5},
		{name: "items one by one", in: `{"action":"call","tool":"paged","pages":{"send":"cursor","next":".next","items":".items[].n"}}`, want: []string{"[0,0.50,1,1.50,"}, sent: 5},
		{name: "capped", in: `{"action":"call","tool":"paged","pages":{"send":"cursor","next":".next","items":".items","max":2}}`, want: []string{`{"n":1.50}]`, "2 pages were joined; more follow, from cursor 2"}, sent: 2},
		{name: "in a circle", in: `{"action":"call","tool":"paged","pages":{"send":"cursor","next":"3","items":".items"}}`, want: []string{"2 pages were joined; the last one names itself as the next, by cursor 3"}, sent: 2},
		{name: "a page fails", in: `{"action":"call","tool":"paged","arguments":{"failAt":3},` + pages + `}`, want: []string{`{"n":2.50}]`, "Page 4 failed, 3 pages were joined.", "page is gone"}, sent: 4},
		{name: "then computed on", in: `{"action":"call","tool":"paged",` + pages + `,"path":"#"}`, want: []string{"10"}, sent: 5},
		{name: "a tool that may write", in: `{"action":"call","tool":"rows","arguments":{"n":1},` + pages + `}`, want: []string{"bad_request:", "Not sent"}, isError: true},
		{name: "bad filter", in: `{"action":"call","tool":"paged","pages":{"send":"cursor","next":".next[","items":"."}}`, want: []string{"bad_request:", "Not sent"}, isError: true},
		{name: "unknown key", in: `{"action":"call","tool":"paged","pages":{"sned":"cursor"}}`, want: []string{"bad_request:"}, isError: true},
		{name: "too many", in: `{"action":"call","tool":"paged","pages":{"send":"cursor","next":".next","items":".","max":101}}`, want: []string{"bad_request:"}, isError: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, h := newHouse(t, nil)
			r := ask(t, d, tc.in)
			for _, w := range tc.want {
				if text := said(r); !strings.Contains(text, w) {
					t.Errorf("got %q, want it to hold %q", text, w)
				}
			}
			if got := r.Get("isError").Bool(); got != tc.isError {
				t.Errorf("got isError %v, want %v", got, tc.isError)
			}
			if h.sent() != tc.sent {
				t.Errorf("got %d requests, want %d", h.sent(), tc.sent)
			}
		})
	}
}

// TestForEach runs one call for each element of a list.
func TestForEach(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
		not      []string
		isError  bool
		sent     int // beside the call that made the list
	}{
		{name: "each record", in: `{"action":"batch","forEach":{"$from":"H","path":"#.name"},"max":3,"calls":[{"id":"say","tool":"echo","arguments":{"message":{"$from":"item"}}}]}`,
			want: []string{"3 elements, 0 failed; 497 more were left out", "[say0] main/echo ok\nrow 0", "[say2] main/echo ok\nrow 2"}, sent: 3},
		{name: "a field of it", in: `{"action":"batch","forEach":[{"a":{"b":"x"}},{"a":{"b":"y"}}],"calls":[{"tool":"echo","arguments":{"message":{"$from":"item","path":"a.b"}}}]}`,
			want: []string{"[item0] main/echo ok\nx", "[item1] main/echo ok\ny"}, sent: 2},
		{name: "some fail", in: `{"action":"batch","forEach":[{"m":"x"},{}],"calls":[{"tool":"echo","arguments":{"message":{"$from":"item","path":"m"}}}]}`,
			want: []string{"2 elements, 1 failed", "[item0] main/echo ok", "[item1] main/echo error"}, sent: 1},
		{name: "too much for the budget", in: `{"action":"batch","forEach":{"$from":"H","path":"#.id"},"max":100,"calls":[{"tool":"rows","arguments":{"n":{"$from":"item"}}}]}`,
			want: []string{"100 elements, 0 failed", "records"}, not: []string{"[item7]"}, sent: 100},
		{name: "no list", in: `{"action":"batch","forEach":{"a":1},"calls":[{"tool":"echo"}]}`, want: []string{"bad_request:"}, isError: true},
		{name: "empty list", in: `{"action":"batch","forEach":[],"calls":[{"tool":"echo"}]}`, want: []string{"bad_request:", "empty"}, isError: true},
		{name: "two calls", in: `{"action":"batch","forEach":[1],"calls":[{"tool":"echo"},{"tool":"echo"}]}`, want: []string{"bad_request:", "exactly one"}, isError: true},
		{name: "over the cap", in: `{"action":"batch","forEach":[1],"max":1001,"calls":[{"tool":"echo"}]}`, want: []string{"bad_request:"}, isError: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, h := newHouse(t, nil)
			handle := ask(t, d, `{"action":"call","tool":"rows","arguments":{"n":500}}`).Get(`_meta.proxy-dispatch.handle`).String()
			r := ask(t, d, strings.ReplaceAll(tc.in, `"H"`, fmt.Sprintf("%q", handle)))
			text := said(r)
			for _, w := range tc.want {
				if !strings.Contains(text, w) {
					t.Errorf("got %q, want it to hold %q", clip(text, 1500), w)
				}
			}
			for _, w := range tc.not {
				if strings.Contains(text, w) {
					t.Errorf("got %q, want it without %q", clip(text, 1500), w)
				}
			}
			if got := r.Get("isError").Bool(); got != tc.isError {
				t.Errorf("got isError %v, want %v", got, tc.isError)
			}
			if got := h.sent() - 1; got != tc.sent {
				t.Errorf("got %d requests, want %d", got, tc.sent)
			}
		})
	}
}
