package serve

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

func TestDress(t *testing.T) {
	const info = `{"name":"p"}`
	const identity = `"io.modelcontextprotocol/serverInfo":{"name":"p"}`
	cases := []struct{ name, result, want string }{
		{"empty", `{}`, `{"resultType":"complete","_meta":{` + identity + `}}`},
		{"spaces", " { } ", `{"resultType":"complete","_meta":{` + identity + `} }`},
		{"plain", `{"content":[]}`, `{"resultType":"complete","_meta":{` + identity + `},"content":[]}`},
		{"typed", `{"resultType":"input_required"}`, `{"_meta":{` + identity + `},"resultType":"input_required"}`},
		{"meta", `{"a":1,"_meta": {"b":2},"c":3}`, `{"resultType":"complete","a":1,"_meta": {` + identity + `,"b":2},"c":3}`},
		{"empty meta", `{"_meta":{ }}`, `{"resultType":"complete","_meta":{` + identity + ` }}`},
		{"meta is null", `{"_meta":null}`, `{"resultType":"complete","_meta":null}`},
		{"all there", `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":1}}`, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":1}}`},
		{"deeper ones do not count", `{"content":[{"_meta":{},"resultType":"x"}]}`, `{"resultType":"complete","_meta":{` + identity + `},"content":[{"_meta":{},"resultType":"x"}]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := string(bytes.Join(dressing{info: json.RawMessage(info)}.dress(json.RawMessage(c.result)), nil))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestProgressMessage(t *testing.T) {
	cases := []struct{ name, params, want string }{
		{"empty", `{}`, `{"progressToken":1e3}`},
		{"line breaks", "\n{\"progress\":\n1.10}", `{"progressToken":1e3,"progress":1.10}`},
		{"token of the server", `{"progressToken":5,"progress":1,"x":"\u00e9"}`, `{"progressToken":1e3,"progress":1,"x":"\u00e9"}`},
		{"no object", `[1]`, ""},
		{"no JSON", `{`, ""},
		{"nothing", ``, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := ""
			if c.want != "" {
				want = `{"jsonrpc":"2.0","method":"notifications/progress","params":` + c.want + `}`
			}
			if got := string(progressMessage(json.RawMessage("1e3"), json.RawMessage(c.params))); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestDeepMessageIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, unit string
	}{{"arrays", "["}, {"objects", `{"a":`}} {
		t.Run(c.name, func(t *testing.T) {
			if _, bad := parseMessage([]byte(strings.Repeat(c.unit, 1<<20))); bad == nil || !strings.Contains(bad.Message, "nested") {
				t.Errorf("got %+v, want a refusal of its depth", bad)
			}
		})
	}
}

// FuzzMessage holds parseMessage against encoding/json: what it accepts is JSON, and the parts it
// returns are those of the message.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1e3,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"\u00e9"}}}`))
	f.Add([]byte(` {"method":"a\"b" , "params" : { "x" : [ 1 , {} ] },"jsonrpc":"2.0"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\\","method":"x","extra":"\"id\":5"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, bad := parseMessage(line)
		if bad != nil || m.method == "" {
			return
		}
		var want struct {
			ID, Params json.RawMessage
			Method     string
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("accepted %q: %v", line, err)
		}
		var got struct {
			ID, Params json.RawMessage
			Method     string
		}
		if err := json.Unmarshal(outgoing(m.id, m.method, m.params), &got); err != nil {
			t.Fatalf("encoded %q from %q: %v", outgoing(m.id, m.method, m.params), line, err)
		}
		if got.Method != m.method || !bytes.Equal(got.Params, m.params) || m.id != nil && !bytes.Equal(got.ID, m.id) {
			t.Errorf("encoded %q from %q", outgoing(m.id, m.method, m.params), line)
		}
		_, _ = readParams(m.params)
		_, _ = readEra(rawjson.Member(m.params, "_meta"))
		_ = idKey(m.id)
	})
}

// FuzzDress checks that dressing a result keeps it JSON and keeps what it held.
func FuzzDress(f *testing.F) {
	f.Add([]byte(`{"content":[],"_meta":{"a":1}}`))
	f.Add([]byte(`{"_meta":{},"_meta":{ }}`))
	f.Add([]byte("{\"\\u005fmeta\":{}}"))
	f.Fuzz(func(t *testing.T, result []byte) {
		var before map[string]json.RawMessage
		if json.Unmarshal(result, &before) != nil || before == nil {
			t.Skip("no object")
		}
		var after map[string]json.RawMessage
		if err := json.Unmarshal(bytes.Join(dressing{info: json.RawMessage(`{}`), hints: []byte(`"ttlMs":0`)}.dress(result), nil), &after); err != nil {
			t.Fatalf("%q became no JSON: %v", result, err)
		}
		for key, value := range before {
			if key != "_meta" && !bytes.Equal(after[key], value) {
				t.Errorf("%q: member %q became %s", result, key, after[key])
			}
		}
	})
}
