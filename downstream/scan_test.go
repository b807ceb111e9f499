package downstream

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScanObject(t *testing.T) {
	tests := []struct {
		name, data string
		want       []string // name=value; nil = refused
	}{
		{"empty", ` { } `, []string{}},
		{"members as written", `{"a": 1.10 ,"b":[1, {"x":"}"}],"c\u0041":"\"\\"}`, []string{`a=1.10`, `b=[1, {"x":"}"}]`, `cA="\"\\"`}},
		{"words", `{"a":true,"b":false,"c":null,"d":-0.5e+10}`, []string{"a=true", "b=false", "c=null", "d=-0.5e+10"}},
		{"same name twice", `{"a":1,"a":2}`, []string{"a=1", "a=2"}},
		{"no object", `[1]`, nil},
		{"more behind", `{} {}`, nil},
		{"open string", `{"a":"b}`, nil},
		{"control character", "{\"a\":\"\x01\"}", nil},
		{"bad escape", `{"a":"\x"}`, nil},
		{"leading zero", `{"a":01}`, nil},
		{"half a number", `{"a":1.}`, nil},
		{"trailing comma", `{"a":1,}`, nil},
		{"too deep", `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{}
			if !scanObject([]byte(tt.data), func(p pair) { got = append(got, p.name+"="+string(p.value)) }) {
				got = nil
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// The scanner takes exactly what encoding/json takes.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{exactResult, exactError, `[]`, `[1,"x",{}]`, `{"a":{"b":[[]]}}`, `"x`, `{"a":1e}`, `{"\ud800":"\u12"}`, "{\"aaaaaaaa\x7f\":\"bbbbbbbbb\x1f\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var object map[string]json.RawMessage
		trimmed := bytes.TrimLeft(data, " \t\r\n")
		want := json.Valid(data)
		if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
			return
		}
		if trimmed[0] == '[' {
			if got := scanArray(data, func(v []byte) {
				if !json.Valid(v) {
					t.Errorf("element %q is no JSON", v)
				}
			}); got != want {
				t.Errorf("%q: got %v, want %v", data, got, want)
			}
			return
		}
		found := map[string]json.RawMessage{}
		got := scanObject(data, func(p pair) { found[p.name] = p.value })
		if got != want {
			t.Fatalf("%q: got %v, want %v", data, got, want)
		}
		if json.Unmarshal(data, &object) == nil && got {
			if d := cmp.Diff(object, found, cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })); d != "" && !bytes.ContainsRune(data, '\ufffd') && json.Valid(data) && isPlain(data) {
				t.Error(d)
			}
		}
	})
}

// isPlain is false where encoding/json replaces what is no UTF-8 in names.
func isPlain(data []byte) bool {
	for _, c := range data {
		if c >= 0x80 || c == '\\' {
			return false
		}
	}
	return true
}

func BenchmarkScan(b *testing.B) {
	for name, text := range map[string]string{
		"plain text": strings.Repeat("abcdefgh ", 1<<20),
		"escapes":    strings.Repeat(`{\"id\": 12,\n`, 1<<19),
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, ok := parseMessage(data); !ok {
					b.Fatal("refused")
				}
			}
		})
	}
}
