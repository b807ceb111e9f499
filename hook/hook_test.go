package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

func call(args, result string) dispatch.HookCall {
	c := dispatch.HookCall{Agent: dispatch.Agent{Principal: "ann", View: "v", Claims: `{"email":"ann@x","org":{"id":7}}`},
		Ref: catalog.Ref{Server: "s", Kind: catalog.Tool, Name: "t"}, Shown: "t", Arguments: json.RawMessage(args)}
	if result != "" {
		c.Result = json.RawMessage(result)
	}
	return c
}

func TestSetAndDefault(t *testing.T) {
	for _, tc := range []struct {
		name, set, args, want string
		always                bool
		principal             string
	}{
		{"set", `{"user":"{principal}","ns":{"eq":["{claims.org.id}","x"]}}`, `{"user":"bob","q":1.50}`, `{"user":"ann","q":1.50,"ns":{"eq":["7","x"]}}`, true, "ann"},
		{"set for nobody", `{"user":"{principal}"}`, `{"q":1}`, "auth_required", true, ""},
		{"default", `{"user":"{principal}","limit":5}`, `{"limit":9007199254740993}`, `{"limit":9007199254740993,"user":"ann"}`, false, "ann"},
		{"default that is given", `{"limit":5}`, `{"limit":1}`, ``, false, "ann"},
		{"default for nobody", `{"user":"{principal}","limit":5}`, `{}`, `{"limit":5}`, false, ""},
		{"other braces", `{"q":"{x} {tool}/{server}"}`, `{}`, `{"q":"{x} t/s"}`, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, err := newSetter(json.RawMessage(tc.set), tc.always)
			if err != nil {
				t.Fatal(err)
			}
			c := call(tc.args, "")
			c.Agent.Principal = tc.principal
			v, err := h.Run(t.Context(), c)
			got := string(v.Arguments) + string(v.Code)
			if err != nil || got != tc.want {
				t.Errorf("got %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	h, err := Redact(RedactOptions{Patterns: []string{`tok_[a-z0-9]+`}, Keys: []string{"api_key", "*secret*"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", `{"content":[{"type":"text","text":"hi"}],"n":1.10}`, ``},
		{"a pattern", `{"content":[ {"type":"text","text":"use tok_ab1 now"} ],"n":1.10}`, `{"content":[ {"type":"text","text":"use *** now"} ],"n":1.10}`},
		{"a key", `{"structuredContent":{"API_KEY":{"v":1},"b":2}}`, `{"structuredContent":{"API_KEY":"***","b":2}}`},
		{"JSON in a text", `{"content":[{"type":"text","text":"{\"my_secret\":1,\"n\":1.50}"}]}`, `{"content":[{"type":"text","text":"{\"my_secret\":\"***\",\"n\":1.50}"}]}`},
		{"escaped", `{"text":"tok\u005fab"}`, `{"text":"***"}`},
		{"deep", `[[[{"x":["tok_a"]}]]]`, `[[[{"x":["***"]}]]]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := h.Run(t.Context(), call("{}", tc.in))
			if err != nil || string(v.Result) != tc.want {
				t.Errorf("got %s, %v, want %s", v.Result, err, tc.want)
			}
		})
	}
	v, err := h.Run(t.Context(), call(`{"q":"tok_x"}`, ""))
	if err != nil || string(v.Arguments) != `{"q":"***"}` {
		t.Errorf("arguments: got %s, %v", v.Arguments, err)
	}
}

// FuzzRedact holds that what comes out is JSON and that no text in it matches any more.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{`{"a":"tok_x"}`, `["{\"key\":\"tok_\"}"]`, `"tok_tok_"`, `{"key":{"key":1}}`} {
		f.Add(s)
	}
	h, err := Redact(RedactOptions{Patterns: []string{`tok_`}, Keys: []string{"key"}, With: "-"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			return
		}
		v, err := h.Run(t.Context(), call("{}", in))
		if err != nil || v.Result == nil {
			return
		}
		if !json.Valid(v.Result) {
			t.Fatalf("%q gives %s", in, v.Result)
		}
		if again, _ := h.Run(t.Context(), call("{}", string(v.Result))); again.Result != nil && string(again.Result) != string(v.Result) {
			t.Errorf("%q gives %s, and then %s", in, v.Result, again.Result)
		}
	})
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Limit(LimitOptions{Calls: 2, Per: time.Minute})
		ask := func(principal string) bool {
			c := call("{}", "")
			c.Agent.Principal = principal
			v, err := h.Run(t.Context(), c)
			if err != nil || v.Abort != "" && !v.Retryable {
				t.Fatalf("got %+v, %v", v, err)
			}
			return v.Abort == ""
		}
		for i, want := range []bool{true, true, false} {
			if got := ask("ann"); got != want {
				t.Errorf("call %d: got %v, want %v", i, got, want)
			}
		}
		if !ask("bob") {
			t.Error("another principal is limited")
		}
		time.Sleep(30 * time.Second)
		if !ask("ann") || ask("ann") {
			t.Error("half a minute is worth one call of two a minute")
		}
	})
	l := Limit(LimitOptions{Calls: 1}).(*limiter)
	for i := range 3 * maxBuckets {
		l.take(fmt.Sprint(i), time.Now())
	}
	if len(l.buckets) > maxBuckets {
		t.Errorf("got %d buckets, want at most %d", len(l.buckets), maxBuckets)
	}
}

func TestRequireAuth(t *testing.T) {
	any, _ := RequireAuth()
	some, _ := RequireAuth("a*")
	for _, tc := range []struct {
		hook      dispatch.Hook
		principal string
		want      dispatch.Verdict
	}{
		{any, "", dispatch.Verdict{Abort: "t is called for known agents only", Code: dispatch.AuthRequired}},
		{any, "bob", dispatch.Verdict{}},
		{some, "ann", dispatch.Verdict{}},
		{some, "bob", dispatch.Verdict{Abort: "t is not for bob"}},
	} {
		c := call("{}", "")
		c.Agent.Principal = tc.principal
		if v, err := tc.hook.Run(t.Context(), c); err != nil || v.Abort != tc.want.Abort || v.Code != tc.want.Code {
			t.Errorf("%s: got %+v, %v, want %+v", tc.principal, v, err, tc.want)
		}
	}
}

func TestAudit(t *testing.T) {
	var out bytes.Buffer
	h := Audit(slog.New(slog.NewJSONHandler(&out, nil)))
	v, err := h.Run(t.Context(), call(`{"q":"a secret"}`, ""))
	if err != nil {
		t.Fatal(err)
	}
	v.Done(json.RawMessage(`{"isError":true}`), nil)
	for _, want := range []string{`"principal":"ann"`, `"tool":"t"`, `"arguments":{"q":10}`, `"isError":true`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want it to hold %s", &out, want)
		}
	}
	if strings.Contains(out.String(), "a secret") {
		t.Errorf("got %s, which tells a value", &out)
	}
}

func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Cache(CacheOptions{TTL: time.Minute, Keys: []string{"q"}, Entries: 3})
		ask := func(principal, args string, readOnly bool) string {
			c := call(args, "")
			c.ReadOnly, c.Agent.Principal = readOnly, principal
			v, err := h.Run(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			if v.Done != nil {
				v.Done(json.RawMessage(`{"of":`+args+`}`), nil)
			}
			return string(v.Result)
		}
		for _, tc := range []struct {
			name, principal, args string
			readOnly              bool
			want                  string
		}{
			{"first", "ann", `{"q": 1}`, true, ""},
			{"again, other spelling", "ann", `{"x":2,"q":1}`, true, `{"of":{"q": 1}}`},
			{"another principal", "bob", `{"q":1}`, true, ""},
			{"another value", "ann", `{"q":2}`, true, ""},
			{"a tool that writes", "ann", `{"q":1}`, false, ""},
		} {
			if got := ask(tc.principal, tc.args, tc.readOnly); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
			}
		}
		time.Sleep(2 * time.Minute)
		if got := ask("ann", `{"q":1}`, true); got != "" {
			t.Errorf("after its life: got %q", got)
		}
		for i := range 10 {
			ask("ann", fmt.Sprintf(`{"q":"n%d"}`, i), true)
		}
		if n := h.(*cache).order.Len(); n != 3 {
			t.Errorf("got %d answers kept, want 3", n)
		}
	})
}
