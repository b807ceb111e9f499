package tabular

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

func TestForms(t *testing.T) {
	for _, tt := range []struct{ name, in, csv, toon string }{
		{"table", `[{"id":1,"name":"Ann"},{"id":2,"name":"Bo, \"B\""}]`, "id,name\n1,Ann\n2,\"Bo, \"\"B\"\"\"", "[2]{id,name}:\n  1,Ann\n  2,\"Bo, \\\"B\\\"\""},
		{"keys in another order", `[{"a":1,"b":2},{"b":3,"a":4}]`, "a,b\n1,2\n4,3", "[2]{a,b}:\n  1,2\n  4,3"},
		{"a key is missing", `[{"a":1},{"b":null,"a":2.50},{"c":"x"}]`, "a,b,c\n1,,\n2.50,,\n,,x", "[3]:\n  - a: 1\n  - b: null\n    a: 2.50\n  - c: x"},
		{"nested", `[{"a":{"b":[1,2]},"c":[]}]`, "a,c\n\"{\"\"b\"\":[1,2]}\",[]", "[1]:\n  - a:\n      b[2]: 1,2\n    c[0]:"},
		{"values", `["a","","1","true",1,null," x"]`, "value\na\n\n1\ntrue\n1\n\n\" x\"", `[7]: a,"","1","true",1,null," x"`},
		{"lists", `[[1,2],["a"]]`, "1,2\na", "[2]:\n  - [2]: 1,2\n  - [1]: a"},
		{"record", `{"a":1,"b c":{"d":null},"e":[{"f":1},{"f":2}],"g":{}}`, "a,b c,e,g\n1,\"{\"\"d\"\":null}\",\"[{\"\"f\"\":1},{\"\"f\"\":2}]\",{}",
			"a: 1\n\"b c\":\n  d: null\ne[2]{f}:\n  1\n  2\ng:"},
		{"empty", `[]`, "", "[0]:"},
		{"mixed", `[1,{"a":1},[2],{}]`, "", "[4]:\n  - 1\n  - a: 1\n  - [1]: 2\n  -"},
		{"scalar", `"a: b"`, "", `"a: b"`},
		{"spelling", `[{"n":1e5,"s":"007"},{"n":12345678901234567890,"s":"-"}]`, "n,s\n1e5,007\n12345678901234567890,-", "[2]{n,s}:\n  1e5,\"007\"\n  12345678901234567890,\"-\""},
		{"escapes", `[{"a":"x\ny"}]`, "a\n\"x\ny\"", "[1]{a}:\n  \"x\\ny\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := Write([]byte(tt.in), "csv")
			if string(got) != tt.csv || (err != nil) != (tt.csv == "" && tt.in != "[]") {
				t.Errorf("csv = %q, %v, want %q", got, err, tt.csv)
			}
			if got := toon([]byte(tt.in)); string(got) != tt.toon {
				t.Errorf("toon =\n%s\nwant\n%s", got, tt.toon)
			}
		})
	}
}

func FuzzForms(f *testing.F) {
	for _, s := range []string{`[{"a":1,"b":"x"},{"b":null,"a":2.50}]`, `[[1,2],["a"]]`, `["a","",1,true," x"]`, `{"a":{"b":[]},"c d":"1"}`, `[]`, `[1,{"a":1}]`, `"a: b"`, `[{"a":"x\ny,\""}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !rawjson.Valid(b) {
			return
		}
		toon(b)
		Smallest(b)
		text, rows, err := Write(b, "csv")
		if err != nil || rows == 0 {
			return
		}
		r := csv.NewReader(strings.NewReader(string(text)))
		r.FieldsPerRecord = -1
		if _, err := r.ReadAll(); err != nil {
			t.Fatalf("%q is no csv: %v", text, err)
		}
	})
}
