package spill

import (
	"encoding/csv"
	"errors"
	"math/rand/v2"
	"os"
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
			got, _, err := written([]byte(tt.in), "csv")
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
	for seed := range uint64(20) {
		f.Add([]byte(forms[seed%4](randomValue(rand.New(rand.NewPCG(seed, 4)), 4))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !rawjson.Valid(b) {
			return
		}
		toon(b)
		smallest(b)
		text, rows, err := written(b, "csv")
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

func TestSmallestForm(t *testing.T) {
	s := newShelf(t, Options{})
	for _, tt := range []struct{ name, in, format, want, form string }{
		{"plain table", records(20), "", "id,name,price,big\n0,user 0,1.10,", "csv"},
		{"types would be lost", `[{"long name":"1","other name":null},{"long name":"x","other name":2},{"long name":"","other name":3},{"long name":"y","other name":4}]`, "", "[4]{\"long name\",\"other name\"}:\n", "toon"},
		{"nested", `[{"a":{"b":1}},{"a":{"b":2}}]`, "", "[{\"a\":", ""},
		{"as asked", records(20), "json", "[{\"id\":0", ""},
		{"toon as asked", records(2), "toon", "[2]{id,name,price,big}:\n  0,user 0,1.10,12345678901234567890", "toon"},
		{"not smaller", `[{"a":"` + strings.Repeat("x", 90) + `"},{"a":"` + strings.Repeat("y", 90) + `"}]`, "", "[{", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := put(t, s, `{"content":[],"structuredContent":`+tt.in+`}`)
			got, err := s.Read(t.Context(), a, Data, Query{Op: "read", Format: tt.format})
			if err != nil || got.Format != tt.form || !strings.HasPrefix(got.Text, tt.want) || got.Rows != a.Rows {
				t.Errorf("Read = %q as %q with %d rows, %v, want %q as %q", got.Text, got.Format, got.Rows, err, tt.want, tt.form)
			}
		})
	}
	plain := put(t, s, text("words"))
	if _, err := s.Read(t.Context(), plain, Data, Query{Op: "read", Format: "csv"}); err != nil {
		t.Errorf("a text stays a text: %v", err)
	}
	deep := put(t, s, text(`[1,{"a":1}]`))
	if _, err := s.Read(t.Context(), deep, Data, Query{Op: "read", Format: "csv"}); !errors.Is(err, ErrBadQuery) {
		t.Errorf("csv of no table: %v", err)
	}
}

func TestAs(t *testing.T) {
	s := newShelf(t, Options{})
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAE="
	a := put(t, s, `{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"`+png+`"}],"structuredContent":[{"a":1,"b":"x"},{"a":2,"b":"y"}]}`)
	for _, tt := range []struct {
		name string
		part Part
		w    Want
		want string
	}{
		{"csv", Data, Want{As: "csv"}, `"a,b\n1,x\n2,y"`},
		{"toon", Data, Want{As: "toon"}, `"[2]{a,b}:\n  1,x\n  2,y"`},
		{"csv of jq", Data, Want{JQ: "map({b})", As: "csv"}, `"b\nx\ny"`},
		{"blob", 2, Want{As: "base64"}, `"` + png + `"`},
		{"data URI", 2, Want{As: "dataUri"}, `"data:image/png;base64,` + png + `"`},
		{"text as base64", 1, Want{As: "base64"}, `"c2Vl"`},
		{"member as data URI", Data, Want{Path: "0.b", As: "dataUri"}, `"data:text/plain;base64,eA=="`},
		{"json", Data, Want{Path: "0", As: "json"}, `{"a":1,"b":"x"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Extract(t.Context(), []Item{{a, tt.part}}, tt.w)
			if err != nil || string(got) != tt.want {
				t.Errorf("Extract = %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	for w, want := range map[Want]string{{As: "path"}: "[{\"a\":1,\"b\":\"x\"},\n{\"a\":2,\"b\":\"y\"}]\n", {As: "path", JQ: ".[1].b"}: "y"} {
		got, err := s.Extract(t.Context(), []Item{{a, Data}}, w)
		if err != nil {
			t.Fatal(err)
		}
		if file, err := os.ReadFile(rawjson.Unquote(got)); err != nil || string(file) != want {
			t.Errorf("file of %+v: %q, %v, want %q", w, file, err, want)
		}
	}
	if _, err := s.Extract(t.Context(), []Item{{a, Data}}, Want{As: "xml"}); !errors.Is(err, ErrBadQuery) {
		t.Errorf("unknown form: %v", err)
	}
}
