package dispatch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// Kept results are computed on, joined, and handed on in other forms.
func TestCompute(t *testing.T) {
	d, _ := newHouse(t, func(o *Options) { o.SharesFiles = func(server string) bool { return server == "main" } })
	keep := func(arguments string) string {
		t.Helper()
		r := ask(t, d, `{"action":"call","tool":"args","arguments":`+arguments+`,"resultToFile":true,"format":"json"}`)
		handle := gjson.Get(said(r), "handle").String()
		if handle == "" {
			t.Fatalf("no handle in %s", said(r))
		}
		return handle
	}
	people := keep(`{"rows":[{"id":1,"name":"Ann"},{"id":2,"name":"Bo"}]}`)
	bills := keep(`{"rows":[{"user":1,"sum":1.50},{"user":2,"sum":12345678901234567890},{"user":1,"sum":2.50}]}`)
	for _, tc := range []struct{ name, in, want string }{
		{"jq", `{"action":"readresult","resultFile":%[2]q,"jq":".rows|map(select(.user==1).sum)|add"}`, "4"},
		{"path and jq", `{"action":"readresult","resultFile":%[2]q,"path":"rows","jq":".[1].sum"}`, "12345678901234567890"},
		{"join", `{"action":"readresult","resultFile":[%[1]q,%[2]q],"jq":"(.[0].rows|INDEX(.id)) as $u | .[1].rows | map($u[.user|tostring].name) | join(\" \")"}`, "Ann Bo Ann"},
		{"csv", `{"action":"readresult","resultFile":%[1]q,"path":"rows","format":"csv"}`, "2 rows as csv:\nid,name\n1,Ann\n2,Bo"},
		{"op on jq", `{"action":"readresult","resultFile":%[1]q,"jq":".rows","op":"head","lines":1}`, `[{"id":1,"name":"Ann"},`},
		{"no value", `{"action":"readresult","resultFile":%[1]q,"jq":"empty"}`, "gives no value"},
		{"$from with jq", `{"action":"call","tool":"args","arguments":{"x":{"$from":%[1]q,"jq":"[.rows[].name]"}}}`, `{"x":["Ann","Bo"]}`},
		{"$from of several", `{"action":"call","tool":"args","arguments":{"x":{"$from":[%[1]q,%[2]q],"jq":"map(.rows|length)"}}}`, `{"x":[2,3]}`},
		{"$from as csv", `{"action":"call","tool":"args","arguments":{"x":{"$from":%[1]q,"path":"rows","as":"csv"}}}`, `{"x":"id,name\n1,Ann\n2,Bo"}`},
		{"$from as base64", `{"action":"call","tool":"args","arguments":{"x":{"$from":%[1]q,"path":"rows.0.name","as":"base64"}}}`, `{"x":"QW5u"}`},
		{"$from as path", `{"action":"call","tool":"args","arguments":{"x":{"$from":%[1]q,"as":"path"}}}`, `.json"}`},
		{"bad jq in $from", `{"action":"call","tool":"args","arguments":{"x":{"$from":%[1]q,"jq":".["}}}`, "Not sent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := tc.in
			if strings.Contains(in, "%[1]") && strings.Contains(in, "%[2]") {
				in = fmt.Sprintf(in, people, bills)
			} else {
				in = strings.NewReplacer("%[1]q", `"`+people+`"`, "%[2]q", `"`+bills+`"`).Replace(in)
			}
			if got := said(ask(t, d, in)); !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want it to hold %s", got, tc.want)
			}
		})
	}
}
