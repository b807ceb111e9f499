package signature

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// object makes an arguments schema of properties and further keywords.
func object(properties string, more ...string) string {
	return `{"type":"object","properties":{` + properties + `}` + strings.Join(append([]string{""}, more...), ",") + `}`
}

func TestParameters(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"required come first", object(`"mode":{"enum":["a","b"],"default":"a"},"path":{"type":"string"}`, `"required":["path"]`),
			`path: string, mode?: "a"|"b" = "a"`},
		{"no parameters", object(``), ``},
		{"nothing said", `{}`, ``},
		{"scalars", object(`"a":{"type":"integer"},"b":{"type":"number"},"c":{"type":"boolean"},"d":{"type":"null"},"e":{}`),
			`a?: number, b?: number, c?: boolean, d?: null, e?: any`},
		{"boolean schemas", object(`"a":true,"b":false`), `a?: any, b?: never`},
		{"types in a list", object(`"a":{"type":["null","string","integer"]}`), `a?: string|number|null`},
		{"nullable", object(`"a":{"type":"string","nullable":true},"b":{"enum":["x",null],"nullable":true}`), `a?: string|null, b?: "x"|null`},
		{"optional of pydantic", object(`"a":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}`), `a?: number|null`},
		{"constants", object(`"a":{"const":"x"},"b":{"const":1.10},"c":{"enum":[1,"1",true,null]}`), `a?: "x", b?: 1.10, c?: 1|"1"|true|null`},
		{"formats", object(`"a":{"type":"string","format":"date-time"},"b":{"type":"integer","format":"int32"},"c":{"type":"string","format":"a b, c"}`),
			`a?: string<date-time>, b?: number, c?: string`},
		{"defaults", object(`"a":{"type":"number","default":10},"b":{"type":"array","items":{"type":"string"},"default":["x", "y"]},"c":{"type":"string","default":"` + strings.Repeat("x", 90) + `"},"d":{"type":"boolean","default":false}`),
			`a?: number = 10, b?: string[] = ["x","y"], c?: string = …, d?: boolean = false`},
		{"arrays", object(`"a":{"type":"array"},"b":{"type":"array","items":{"type":["string","number"]}},"c":{"type":"array","items":{"type":"array","items":{"type":"string"}}}`),
			`a?: any[], b?: (string|number)[], c?: string[][]`},
		{"tuples", object(`"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false},"b":{"items":[{"type":"string"}],"additionalItems":{"type":"number"}}`),
			`a?: [string, number], b?: [string, ...number[]]`},
		{"two levels", object(`"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"object","properties":{"d":{"type":"string"}}}},"required":["c"]}}}`),
			`a?: {b?: {c: {…}}}`},
		{"records", object(`"a":{"type":"object","additionalProperties":{"type":"number"}},"b":{"type":"object","additionalProperties":true},"c":{"type":"object"},"d":{"type":"object","patternProperties":{"^x":{"type":"string"}}},"e":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"enum":["k","l"]}},"f":{"type":"object","additionalProperties":false},"g":{"type":"object","properties":{"h":{}},"additionalProperties":{"type":"number"}}`),
			`a?: Record<string, number>, b?: Record<string, any>, c?: object, d?: Record<string, string>, e?: Record<"k"|"l", string>, f?: {}, g?: {h?: any, [key: string]: number}`},
		{"free keys at the top", `{"type":"object","additionalProperties":{"type":"string"}}`, `[key: string]: string`},
		{"names that need quotes", object(`"a-b":{},"1":{},"":{},"é":{},"x\"y":{},"a\u200bb":{},"$ok_1":{}`),
			`"a-b"?: any, "1"?: any, ""?: any, "é"?: any, "x\"y"?: any, "a\u200bb"?: any, $ok_1?: any`},
		{"hidden characters in literals", object(`"a":{"enum":["x\u202ey"],"default":"\udb40\udc41"}`), `a?: "x\u202ey" = "\udb40\udc41"`},
		{"references", object(`"a":{"$ref":"#/$defs/A%20b~1c"},"b":{"$ref":"#/definitions/missing"},"c":{"$ref":"http://elsewhere/x#"},"d":{"$ref":"#named"}`, `"$defs":{"A b/c":{"type":"string"},"n":{"$anchor":"named","type":"number"}}`),
			`a?: string, b?: any, c?: any, d?: number`},
		{"reference at the root", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}}`, `x: string`},
		{"recursion", object(`"tree":{"$ref":"#/$defs/T"},"self":{"$ref":"#"}`, `"$defs":{"T":{"type":"object","properties":{"v":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/T"}}}}}`),
			`tree?: {v?: string, kids?: …[]}, self?: …`},
		{"a reference to itself", object(`"a":{"$ref":"#/properties/a"},"b":{"allOf":[{"$ref":"#/properties/b"}]},"c":{"anyOf":[{"$ref":"#/properties/c"},{"type":"string"}]}`),
			`a?: any, b?: any, c?: …|string`},
		{"allOf folds", object(`"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"properties":{"y":{"type":"number"}},"required":["y"]}]},"b":{"allOf":[{"type":"number"},{"type":"integer"}]},"c":{"allOf":[{"type":"string"},{"type":"number"}]}`),
			`a?: {x?: string, y: number}, b?: number, c?: never`},
		{"allOf at the root", `{"allOf":[{"properties":{"a":{"type":"string"}}},{"required":["a"]}]}`, `a: string`},
		{"unions", object(`"a":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"]},{"type":"array","items":{"type":"string"}}]},"b":{"anyOf":[{"type":"string"},{"type":"string","format":"x"},{}]},"c":{"type":"object","properties":{"z":{}},"anyOf":[{"properties":{"x":{}}},{"properties":{"y":{}}}]},"d":{"type":"object","properties":{"z":{}},"anyOf":[{"required":["z"]},{"required":["q"]}]}`),
			`a?: {k: "x"}|string[], b?: any, c?: {z?: any} & ({x?: any}|{y?: any}), d?: {z?: any}`},
		{"alternatives at the root", object(`"z":{}`, `"oneOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}}}]`), `z?: any, ...({a: any}|{b?: any})`},
		{"required alone", `{"type":"object","required":["a"]}`, `a: any`},
		{"many values", object(`"a":{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]}`), `a?: 1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|…`},
		{"implied types", object(`"a":{"pattern":"x"},"b":{"minimum":1},"c":{"properties":{"d":{}}},"e":{"items":{}}`), `a?: string, b?: number, c?: {d?: any}, e?: any[]`},
		{"no object", `{"type":"string"}`, `...string`},
		{"true", `true`, ``},
		{"false", `false`, `...never`},
		{"a number", `7`, ``},
		{"nonsense keywords", `{"type":7,"properties":[],"required":{"a":1},"allOf":{},"anyOf":7,"enum":{},"$ref":[],"items":"x"}`, ``},
		{"invalid", `{"type":`, `…`},
		{"empty", ``, `…`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Parameters(json.RawMessage(tc.schema), MaxLine); got != tc.want {
				t.Errorf("Parameters =\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
	if got := Parameters(nil, MaxLine); got != "" {
		t.Errorf("Parameters(nil) = %q, want none", got)
	}
}

func TestParametersWithin(t *testing.T) {
	schema := json.RawMessage(object(
		`"path":{"type":"string"},"mode":{"enum":["read","write","append"],"default":"read"},"filter":{"type":"object","properties":{"and":{"type":"object","properties":{"name":{"type":"string"}}}}}`,
		`"required":["path"]`))
	for _, tc := range []struct {
		max  int
		want string
	}{
		{1000, `path: string, mode?: "read"|"write"|"append" = "read", filter?: {and?: {name?: string}}`},
		{85, `path: string, mode?: "read"|"write"|"append" = "read", filter?: {and?: {…}}`},
		{72, `path: string, mode?: "read"|"write"|"append", filter?: {…}`},
		{30, `path: string, …`},
		{8, `…`},
		{2, ``},
		{-1, ``},
	} {
		if got := Parameters(schema, tc.max); got != tc.want {
			t.Errorf("Parameters(%d) = %q, want %q", tc.max, got, tc.want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"object", object(`"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}`, `"required":["rows"]`), `{rows: {id: number}[]}`},
		{"list", `{"type":"array","items":{"type":"string"}}`, `string[]`},
		{"levels", object(`"a":{"properties":{"b":{"properties":{"c":{"properties":{"d":{}}}}}}}`), `{a?: {b?: {c?: {…}}}}`},
		{"anything", `true`, `any`},
		{"invalid", `{`, `…`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Line(json.RawMessage(tc.schema)); got != tc.want {
				t.Errorf("Line = %s, want %s", got, tc.want)
			}
		})
	}
	if got := Line(nil); got != "" {
		t.Errorf("Line(nil) = %q, want none", got)
	}
}

func TestParams(t *testing.T) {
	schema := json.RawMessage(object(
		`"mode":{"anyOf":[{"enum":["a","b"]},{"type":"null"}],"description":"How\u200b."},"path":{"$ref":"#/$defs/P"}`,
		`"required":["path"]`, `"$defs":{"P":{"type":"string","description":"Where."}}`,
		`"oneOf":[{"properties":{"x":{}},"required":["x"]},{"properties":{"y":{},"mode":{}}}]`))
	want := []Param{{Name: "mode", Description: "How.", Enum: []string{"a", "b"}}, {Name: "path", Description: "Where.", Required: true}, {Name: "x"}, {Name: "y"}}
	if diff := cmp.Diff(want, Params(schema)); diff != "" {
		t.Errorf("Params (-want +got):\n%s", diff)
	}
}

// hostile are schemas made to hurt.
func hostile() map[string]string {
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"string","description":"d","enum":["a","b"]}`, i)
	}
	var chain, fan strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&chain, `"d%d":{"properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}}},`, i, i+1, i+1, i/2)
		fmt.Fprintf(&fan, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"items":{"$ref":"#/$defs/d%d"}},{"$ref":"#/$defs/d%d"},{"type":"string"}]},`, i, i+1, i+2, i/2)
	}
	deep := func(open, end string, n int) string { return strings.Repeat(open, n) + "{}" + strings.Repeat(end, n) }
	return map[string]string{
		"many properties":     object(strings.Join(many, ",")),
		"many nested":         object(`"a":{"items":` + object(strings.Join(many, ",")) + `}`),
		"many through a ref":  object(`"a":{"$ref":"#/$defs/m"},"b":{"$ref":"#/$defs/m"},"c":{"anyOf":[`+strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/m"},`, 2000), ",")+`]}`, `"$defs":{"m":`+object(strings.Join(many, ","))+`}`),
		"deep objects":        deep(`{"properties":{"a":`, `}}`, 4000),
		"deep arrays":         object(`"a":` + deep(`{"items":`, `}`, 4000)),
		"deep allOf":          deep(`{"allOf":[`, `]}`, 4000),
		"deep anyOf":          object(`"a":` + deep(`{"anyOf":[{"type":"string"},`, `]}`, 4000)),
		"deep negations":      deep(`{"not":`, `}`, 4000),
		"too deep":            deep(`{"items":`, `}`, 20_000),
		"chain of references": object(`"a":{"$ref":"#/$defs/d0"}`, `"$defs":{`+chain.String()+`"d2000":true}`),
		"fan of references":   object(`"a":{"$ref":"#/$defs/d0"}`, `"$defs":{`+fan.String()+`"d2000":true}`),
		"all of all":          `{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"allOf":[{"$ref":"#"},{"properties":{"x":{"$ref":"#"}}}]},`, 5000), ",") + `]}`,
		"long enum":           object(`"a":{"enum":[` + strings.TrimSuffix(strings.Repeat(`"value",`, 50_000), ",") + `]}`),
		"long strings":        object(`"` + strings.Repeat("k", 300_000) + `":{"type":"` + strings.Repeat("t", 100_000) + `","default":"` + strings.Repeat("v", 300_000) + `","description":"` + strings.Repeat("*/", 30_000) + `"}`),
		"too large":           object(`"a":{"const":"` + strings.Repeat("x", maxSchema) + `"}`),
		"many required":       `{"required":["` + strings.Repeat(`a","`, 100_000) + `b"],"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		"long pointer":        object(`"a":{"$ref":"#` + strings.Repeat("/properties/a", 5000) + `"}`),
		"many fans":           object(fans(1500), `"$defs":{`+fan.String()+`"d2000":true}`),
		"invalid":             `{"properties":{"a":`,
	}
}

// fans makes n properties that each cost much and show little.
func fans(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"p%d":{"anyOf":[{"$ref":"#/$defs/d%d"},true]}`, i, i))
	}
	return strings.Join(all, ",")
}

func TestHostileSchemas(t *testing.T) {
	for name, schema := range hostile() {
		t.Run(name, func(t *testing.T) { checkBounds(t, json.RawMessage(schema)) })
	}
}

// checkBounds renders a schema in every way and checks what is promised of each.
func checkBounds(t *testing.T, schema json.RawMessage) {
	t.Helper()
	signature := Parameters(schema, MaxLine)
	if len(signature) > MaxLine || strings.ContainsAny(signature, "\n\r\x00") || !utf8.ValidString(signature) {
		t.Errorf("Parameters has %d bytes, want one clean line of at most %d: %.200q", len(signature), MaxLine, signature)
	}
	if got := Parameters(schema, 200); len(got) > 200 {
		t.Errorf("Parameters(200) has %d bytes: %q", len(got), got)
	}
	if got := Line(schema); len(got) > MaxLine || strings.Contains(got, "\n") {
		t.Errorf("Line has %d bytes, want one line of at most %d", len(got), MaxLine)
	}
	if got, _ := Type(schema, "", 1<<20); len(got) > MaxType || !utf8.ValidString(got) {
		t.Errorf("Type has %d bytes, want at most %d", len(got), MaxType)
	}
	for _, path := range []string{"a.b[].c", "*"} {
		got, err := Type(schema, path, 500)
		if len(got) > 500 || err != nil && !errors.Is(err, ErrNoPath) && !errors.Is(err, ErrBadSchema) {
			t.Errorf("Type(%q, 500) has %d bytes, error %v", path, len(got), err)
		}
	}
	if got := Params(schema); len(got) > maxParams {
		t.Errorf("Params has %d, want at most %d", len(got), maxParams)
	}
}

func FuzzParameters(f *testing.F) {
	f.Add([]byte(object(`"a":{"$ref":"#/$defs/T"},"b":{"anyOf":[{"type":"string","format":"uri"},{"items":[{},true]}]}`, `"$defs":{"T":{"allOf":[{"$ref":"#"},{"enum":[1,null]}]}}`)))
	f.Add([]byte(object(`"x-y":{"type":["object","null"],"patternProperties":{"^":{}},"propertyNames":{"enum":["a"]},"default":{"a":1}}`, `"required":["q"]`, `"oneOf":[{"required":["z"]},{"$ref":"#/oneOf/0"}]`)))
	f.Fuzz(func(t *testing.T, schema []byte) { checkBounds(t, schema) })
}
