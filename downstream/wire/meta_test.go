package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestWithMeta(t *testing.T) {
	token := []Member{Own("progressToken", []byte("7"))}
	tests := []struct {
		name, params, meta string
		own                []Member
		want               string // "!" = refused
	}{
		{"nothing", "", "", nil, ""},
		{"as given", `{"b":1.0, "a":[1 ,2]}`, "", nil, `{"b":1.0, "a":[1 ,2]}`},
		{"line breaks", "{\"b\":\n1}", "", nil, `{"b":1}`},
		{"meta alone", "", `{"k":1.0}`, nil, `{"_meta":{"k":1.0}}`},
		{"null params", "null", `{"k":1}`, nil, `{"_meta":{"k":1}}`},
		{"empty params stay", `{}`, "", nil, `{}`},
		{"token", `{"a":1}`, "", token, `{"a":1,"_meta":{"progressToken":7}}`},
		{"the agent's token goes", `{"_meta":{"progressToken":"x","k":"<&>"},"a":1}`, `{"progressToken":9}`, nil, `{"a":1,"_meta":{"k":"<&>"}}`},
		{"nothing left of meta", `{"_meta":{"progressToken":"x"},"a":1}`, "", nil, `{"a":1}`},
		{"ours wins", `{"_meta":{"k":1}}`, `{"k":2,"l":[ 3 ]}`, token, `{"_meta":{"k":2,"l":[ 3 ],"progressToken":7}}`},
		{"odd names stay", `{"a<b":1,"\u0063":2}`, `{"é":1}`, nil, `{"a<b":1,"\u0063":2,"_meta":{"é":1}}`},
		{"hidden _meta", `{"\u005fmeta":{"progressToken":1,"k":2}}`, "", token, `{"_meta":{"k":2,"progressToken":7}}`},
		{"params are a list", `[1]`, "", nil, "!"},
		{"params are broken", `{"a":`, "", nil, "!"},
		{"meta is a list", `{}`, "[1]", nil, "!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := WithMeta(json.RawMessage(tt.params), json.RawMessage(tt.meta), tt.own)
			if err != nil {
				got = []byte("!")
			}
			if string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// What is made of JSON is JSON on one line.
func FuzzWithMeta(f *testing.F) {
	f.Add([]byte(`{"a":1,"_meta":{"k":[1]}}`), []byte(`{"progressToken":1}`))
	f.Add([]byte("{\n}"), []byte("{\r\n\"a\": 1}"))
	f.Fuzz(func(t *testing.T, params, meta []byte) {
		got, err := WithMeta(params, meta, []Member{Own("progressToken", []byte("7"))})
		if err == nil && (!json.Valid(got) || bytes.ContainsAny(got, "\n\r")) {
			t.Errorf("got %q", got)
		}
		if err != nil && json.Valid(params) && json.Valid(meta) && params[0] == '{' && meta[0] == '{' && !bytes.Contains(params, []byte("meta")) && !bytes.ContainsRune(params, '\\') {
			t.Errorf("refused %q with %q: %v", params, meta, err)
		}
	})
}
