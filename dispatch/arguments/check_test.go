package arguments

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const checkSchema = `{"type":"object","required":["path"],"additionalProperties":false,"properties":{
	"path":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":100},
	"mode":{"type":"string","enum":["fast","slow","careful"]},
	"rows":{"type":"array","items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"amount":{"type":"number"}},"additionalProperties":false}},
	"target":{"oneOf":[
		{"type":"object","required":["kind","url"],"properties":{"kind":{"const":"web"},"url":{"type":"string"}}},
		{"type":"object","required":["kind","path"],"properties":{"kind":{"const":"file"},"path":{"type":"string"}}}]},
	"id":{"anyOf":[{"type":"string"},{"type":"integer"}]},"code":{"type":"string","pattern":"^[A-Z]{3}$"}}}`

func TestCheck(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"fits", `{"path":"x","limit":5,"mode":"fast","rows":[{"id":1,"amount":1.5}],"target":{"kind":"web","url":"u"},"id":3,"code":"ABC"}`, ""},
		{"integer by value", `{"path":"x","limit":5.0}`, ""},
		{"wrong type deep", `{"path":"x","rows":[{"id":1},{"id":1},{"id":1},{"id":2,"amount":"x"}]}`, `rows[3].amount: want number, got string "x"`},
		{"missing, near key given", `{"pth":"x"}`, `path: missing, want string; "pth" was given; pth: unknown key (nearest: path)`},
		{"missing deep", `{"path":"x","rows":[{}]}`, `rows[0].id: missing, want integer`},
		{"unknown far key", `{"path":"x","zzz":1}`, `zzz: unknown key, want one of code, id, limit, mode, path, rows, target`},
		{"unknown deep", `{"path":"x","rows":[{"id":1,"amout":2}]}`, `rows[0].amout: unknown key (nearest: amount)`},
		{"enum", `{"path":"x","mode":"fsat"}`, `mode: want one of string "fast", string "slow", string "careful", got string "fsat" (nearest: fast)`},
		{"range", `{"path":"x","limit":500}`, `limit: want at most 100, got 500`},
		{"length", `{"path":""}`, `path: want at least 1 characters, got 0`},
		{"pattern", `{"path":"x","code":"abc"}`, `code: want a string matching ^[A-Z]{3}$, got string "abc"`},
		{"nearest branch by constant", `{"path":"x","target":{"kind":"file"}}`, `target.path: missing, want string`},
		{"branches all of another type", `{"path":"x","id":true}`, `id: want string or integer, got true`},
		{"branches of one type", `{"path":"x","target":"web"}`, `target: want object, got string "web"`},
		{"several in order of path", `{"limit":0,"rows":7}`, `limit: want at least 1, got 0; path: missing, want string; rows: want array, got 7`},
		{"not an object", `[1]`, `arguments: want object, got array`},
		{"not JSON", `{`, `arguments are not JSON`},
		{"key twice deep", `{"path":"x","rows":[{"id":1,"id":2}]}`, `rows[0].id: stands twice in its object`},
		{"monstrous number", `{"path":"x","limit":1e999999999}`, `limit: number 1e999999999 is out of range`},
		{"odd key", `{"path":"x","a b":1}`, `["a b"]: unknown key, want one of code, id, limit, mode, path, rows, target`},
	}
	s := mustCompile(t, checkSchema)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := s.Check(json.RawMessage(tt.in)); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckIsBounded(t *testing.T) {
	s := mustCompile(t, `{"properties":{"l":{"items":{"type":"integer"}}}}`)
	err := s.Check(json.RawMessage(`{"l":[` + strings.Repeat(`"`+strings.Repeat("y", 500)+`",`, 999) + `1]}`))
	var inv *Invalid
	if !errors.As(err, &inv) || len(inv.Problems) != maxProblems || inv.More != 999-maxProblems {
		t.Fatalf("got %v", err)
	}
	if len(err.Error()) > 2000 {
		t.Errorf("message has %d bytes", len(err.Error()))
	}
}

func TestLargePlainValue(t *testing.T) {
	rows := `[` + strings.Repeat(`{"a":1},`, 20_000) + `{"a":1}]`
	tests := []struct {
		name, schema string
		ok           bool
	}{
		{"silent schema", `{"properties":{"rows":{"type":"array"}}}`, true},
		{"bounded schema", `{"properties":{"rows":{"type":"array","maxItems":3}}}`, false},
		{"condition at the root", `{"properties":{"rows":{"type":"array"}},"not":{"properties":{"rows":{"minItems":9}}}}`, false},
		{"other kind", `{"properties":{"rows":{"type":"object"}}}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := mustCompile(t, tt.schema).Check(json.RawMessage(`{"rows":` + rows + `}`))
			if (err == nil) != tt.ok {
				t.Errorf("got %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestCompile(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60)
	many := `{"properties":{` + strings.Repeat(`"p":{},`, 6000) + `"q":{}}}`
	tests := []struct {
		name, schema string
		ok           bool
		bad          string // arguments the schema must refuse, if ok
	}{
		{"empty", ``, true, `[]`},
		{"true", `true`, true, ""},
		{"false", `false`, true, `{}`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, true, `{"a":1}`},
		{"unknown $schema", `{"$schema":"https://example.com/mine","required":["a"]}`, true, `{}`},
		{"pattern of another engine ignored", `{"properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`, true, `{"a":1}`},
		{"huge pattern ignored", `{"properties":{"a":{"type":"string","pattern":"((a{900}b){900}c)*$"}}}`, true, `{"a":1}`},
		{"unknown type ignored", `{"type":"dict","properties":{"a":{"type":"int"}},"required":["a"]}`, true, `{}`},
		{"nulls ignored", `{"type":"object","properties":{"a":{"enum":null,"type":"string"}},"required":null}`, true, `{"a":1}`},
		{"draft 3 required ignored", `{"properties":{"a":{"required":true,"type":"string"}}}`, true, `{"a":1}`},
		{"formats are not asserted", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"uri","type":"string"}},"required":["a"]}`, true, `{}`},
		{"local reference", `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, true, `{"a":1}`},
		{"remote reference", `{"properties":{"a":{"$ref":"https://example.com/a.json"}}}`, false, ""},
		{"file reference", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, false, ""},
		{"dangling reference", `{"properties":{"a":{"$ref":"#/nowhere"}}}`, false, ""},
		{"broken JSON", `{"type":`, false, ""},
		{"a string", `"x"`, false, ""},
		{"too deep", deep, false, ""},
		{"huge numbers", `{"properties":{"a":{"maximum":1e999999999}}}`, false, ""},
		{"duplicate keys collapse", many, true, `[]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Compile(json.RawMessage(tt.schema))
			if (err == nil) != tt.ok {
				t.Fatalf("got %v, want ok %v", err, tt.ok)
			}
			if tt.bad != "" && s.Check(json.RawMessage(tt.bad)) == nil {
				t.Errorf("%s was accepted", tt.bad)
			}
		})
	}
}

// A few references that each ask for the next twice would take longer than anyone can wait.
func TestHostileSchemas(t *testing.T) {
	var defs []string
	for i := range 60 {
		d := `{"$ref":"#/$defs/d` + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + `"}`
		defs = append(defs, `"d`+string(rune('0'+i/10))+string(rune('0'+i%10))+`":{"allOf":[`+d+`,`+d+`]}`)
	}
	bomb := `{"$ref":"#/$defs/d00","$defs":{` + strings.Join(defs, ",") + `,"d60":{"type":"object"}}}`
	tests := []struct{ name, schema, args string }{
		{"doubling references", bomb, `{"a":1}`},
		{"self reference", `{"$ref":"#"}`, `{"a":1}`},
		{"endless tree", `{"properties":{"a":{"$ref":"#"}},"required":["a"]}`, strings.Repeat(`{"a":`, 3000) + `{}` + strings.Repeat(`}`, 3000)},
		{"catastrophic pattern", `{"properties":{"a":{"pattern":"^(a+)+$"}}}`, `{"a":"` + strings.Repeat("a", 100_000) + `b"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			s, err := Compile(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			_ = s.Check(json.RawMessage(tt.args))
			s.Repair(json.RawMessage(tt.args))
			s.Example()
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestExample(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"nothing required", `{"properties":{"a":{"type":"string"}}}`, `{}`},
		{"in the order required", `{"required":["b","a"],"properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, `{"b":"string","a":1}`},
		{"enum, const, default", `{"required":["e","c","d"],"properties":{"e":{"enum":["x","y"]},"c":{"const":7},"d":{"type":"number","default":1.10}}}`, `{"e":"x","c":7,"d":1.10}`},
		{"bounds", `{"required":["n","m"],"properties":{"n":{"type":"integer","exclusiveMinimum":9.5},"m":{"type":"number","maximum":0.5}}}`, `{"n":11,"m":0.5}`},
		{"format and length", `{"required":["u","s"],"properties":{"u":{"type":"string","format":"uuid"},"s":{"type":"string","minLength":8}}}`, `{"u":"123e4567-e89b-12d3-a456-426614174000","s":"stringxx"}`},
		{"pattern", `{"required":["s"],"properties":{"s":{"type":"string","pattern":"^\\d{4}-\\d\\d-\\d\\d$"}}}`, `{"s":"2024-01-31"}`},
		{"nested", `{"required":["l"],"properties":{"l":{"type":"array","minItems":1,"items":{"type":"object","required":["b"],"properties":{"b":{"type":"boolean"}}}}}}`, `{"l":[{"b":true}]}`},
		{"not null", `{"required":["a"],"properties":{"a":{"anyOf":[{"type":"null"},{"type":"integer"}]}}}`, `{"a":1}`},
		{"branches", `{"oneOf":[{"required":["a"]},{"required":["b"],"properties":{"b":{"type":"boolean"}}}]}`, `{"a":"string"}`},
		{"recursive", `{"required":["a"],"properties":{"a":{"anyOf":[{"$ref":"#"},{"type":"integer"}]}}}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			got := s.Example()
			if tt.want == "" {
				if len(got) > maxExampleBytes || !json.Valid(got) {
					t.Errorf("got %s", got)
				}
				return
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if err := s.Check(got); err != nil {
				t.Errorf("example does not fit: %v", err)
			}
		})
	}
}

func TestProperties(t *testing.T) {
	s := mustCompile(t, `{"properties":{"z":{},"a":{}},"allOf":[{"properties":{"m":{}}}],"anyOf":[{"properties":{"b":{}}},{}]}`)
	if diff := cmp.Diff([]string{"z", "a", "b", "m"}, s.Properties()); diff != "" {
		t.Error(diff)
	}
	if !s.Has("b") || s.Has("x") {
		t.Error("Has is wrong")
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range fuzzSchemas {
		f.Add([]byte(s), []byte(`{"a":1,"n":"5"}`))
	}
	f.Add([]byte(`{"$id":"x:y","$anchor":"a","type":[],"pattern":"(","$ref":"#a"}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		_ = s.Check(args)
		s.Repair(args)
		if example := s.Example(); !json.Valid(example) {
			t.Fatalf("example %s", example)
		}
		s.Properties()
	})
}
