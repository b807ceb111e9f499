package spill

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

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
