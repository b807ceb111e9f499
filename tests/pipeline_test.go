package tests

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

// TestPipeline: 20 MB go from a server to a second and on to a third, and next to nothing of them through the model.
func TestPipeline(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("query"), fix("transform"), fix("write")))
	size := 20_000_000
	if raceOn {
		size = 2_000_000 // everything takes many times as long
	}
	spent := 0
	do := func(request string) answer {
		t.Helper()
		got := s.do(request).ok()
		spent += countTokens(t, request) + countTokens(t, got.text())
		return got
	}
	do(`{"action":"search","query":"a large list of records; add the amounts of rows"}`)
	rows := handleShape.FindString(do(fmt.Sprintf(`{"action":"call","tool":"query/big","arguments":{"bytes":%d}}`, size)).text())
	made := do(fmt.Sprintf(`{"action":"call","tool":"transform/mirror","arguments":{"rows":{"$from":%q}}}`, rows)).text()
	passed := handleShape.FindString(strings.TrimPrefix(made, "Result kept: "))
	records := fixture.Records(size)
	n := strings.Count(records, `"id":`)
	cents := int64(n) * int64(n+1) / 2 * 10
	do(fmt.Sprintf(`{"action":"call","tool":"write/records_sum","arguments":{"rows":{"$from":%q,"path":"rows"}}}`, passed)).wants(fmt.Sprintf("%d rows, sum %d.%02d", n, cents/100, cents%100))
	s.read(passed, "").ok().wants("from: transform/mirror, query/big (given)")
	t.Logf("%d tokens through the model for %d bytes twice", spent, len(records))
	if spent >= 1500 {
		t.Errorf("%d tokens went through the model, want fewer than 1500", spent)
	}
}

// TestScreenshot: a picture goes into another server's tool, in the form it takes.
func TestScreenshot(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("browser"), fix("store")))
	for _, size := range []int{30_000, 3_000_000} { // it stays inline, it does not
		shot := s.spilled("browser/big", fmt.Sprintf(`{"bytes":%d,"kind":"image"}`, size))
		picture := base64.StdEncoding.EncodeToString(make([]byte, size))
		for as, want := range map[string]string{
			"base64":  fmt.Sprintf("%d bytes, starts with %q", len(picture), picture[:60]),
			"dataUri": fmt.Sprintf("%d bytes, starts with %q", len(picture)+len("data:image/png;base64,"), ("data:image/png;base64," + picture)[:60]),
		} {
			request := fmt.Sprintf(`{"action":"call","tool":"store/accept_string","arguments":{"text":{"$from":"%s#2","as":%q}}}`, shot, as)
			got := s.do(request).ok()
			got.wants(want)
			if n := countTokens(t, request+got.text()); n > 200 {
				t.Errorf("%s of %d bytes: %d tokens through the model", as, size, n)
			}
		}
	}
}

// TestBombs: programs and patterns without end are stopped with words, while other calls are answered.
func TestBombs(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	records := s.spilled("big", `{"bytes":300000}`)
	log := s.spilled("big", `{"bytes":3000000,"kind":"log"}`)
	var bombs, others sync.WaitGroup
	over := make(chan struct{})
	for _, b := range []struct{ members, want string }{
		{`"jq":"[range(1e9)]"`, "too_large"}, {`"jq":"repeat(.)"`, "too_large"}, {`"jq":"reduce range(60) as $i (\"x\"; . + .)"`, "too_large"},
		{`"jq":"input"`, "bad_request"}, {`"jq":"last(range(1e18))"`, "too_large"}, {`"jq":"[combinations(9)]|length"`, "too_large"},
		{`"op":"grep","pattern":"(a{1000}){1000}"`, "bad_request"}, {`"op":"grep","pattern":"(.*)(.*)(.*)(.*)(.*)(.*)(.*)q!"`, ""},
	} {
		bombs.Go(func() {
			handle := records
			if b.want == "" {
				handle = log
			}
			if got := s.read(handle, b.members); got.isError != (b.want != "") || !strings.HasPrefix(got.text(), b.want) {
				t.Errorf("%s: got %s, want %q", b.members, clip(got.text(), 300), b.want)
			}
		})
	}
	calls := 0
	others.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			s.tool("echo", fmt.Sprintf(`{"message":"call %d"}`, calls), "").ok().wants(fmt.Sprintf("call %d", calls))
			s.read(log, `"op":"grep","pattern":"request 000097","limit":1`).ok().wants("1 matches")
			s.read(records, `"op":"slice","fromLine":7,"toLine":7`).ok().wants("item-000007")
			calls++
		}
	})
	bombs.Wait()
	close(over)
	others.Wait()
	if calls < 5 {
		t.Errorf("%d calls were answered beside the bombs", calls)
	}
	s.read(records, `"jq":"length"`).ok()
}
