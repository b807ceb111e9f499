package arguments

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustCompile(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatalf("compile %s: %v", schema, err)
	}
	return s
}

const repairSchema = `{"type":"object","required":["must"],"properties":{
	"n":{"type":"integer"},"x":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},
	"o":{"type":"object","properties":{"n":{"type":"integer"}}},"l":{"type":"array"},
	"tags":{"type":"array","items":{"type":"string"}},"ids":{"type":"array","items":{"type":"integer"}},
	"rows":{"type":"array","items":{"type":"object","properties":{"amount":{"type":"number"}}}},
	"e":{"type":"string","enum":["a","b"]},"either":{"type":["string","number"]},"must":{"type":["string"]},
	"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},"ref":{"$ref":"#/$defs/count"},
	"any":{}},"$defs":{"count":{"type":"integer"}}}`

func TestRepair(t *testing.T) {
	tests := []struct {
		name, in, out string
		notes         []string
	}{
		{"number in a string", `{"n":"5","x":"1.10"}`, `{"n":5,"x":1.10}`, []string{`n: "5" → 5`, `x: "1.10" → 1.10`}},
		{"boolean in a string", `{"b":"true"}`, `{"b":true}`, []string{`b: "true" → true`}},
		{"object in a string", `{"o":"{\"n\": 1}"}`, `{"o":{"n": 1}}`, []string{`o: "{\"n\": 1}" → object`}},
		{"repair inside a repair", `{"o":"{\"n\":\"1\"}"}`, `{"o":{"n":1}}`, []string{`o: "{\"n\":\"1\"}" → object`, `o.n: "1" → 1`}},
		{"array in a string", `{"tags":"[\"a\"]"}`, `{"tags":["a"]}`, []string{`tags: "[\"a\"]" → array`}},
		{"nested in a list", `{"rows":[{"amount":1},{"amount":"2.50"}]}`, `{"rows":[{"amount":1},{"amount":2.50}]}`, []string{`rows[1].amount: "2.50" → 2.50`}},
		{"scalar for a list", `{"tags":"a","ids":7}`, `{"tags":["a"],"ids":[7]}`, []string{`tags: "a" → ["a"]`, `ids: 7 → [7]`}},
		{"number in a string for a list", `{"ids":"7"}`, `{"ids":[7]}`, []string{`ids: "7" → [7]`}},
		{"null dropped first", `{"n":null,"s":"x"}`, `{"s":"x"}`, []string{"n: null dropped"}},
		{"null dropped last", `{"s":"x" , "n":null}`, `{"s":"x"}`, []string{"n: null dropped"}},
		{"null dropped all", `{ "n":null, "s":null }`, `{  }`, []string{"n: null dropped", "s: null dropped"}},
		{"null dropped between", `{"s":"x","n":null,"b":null,"x":1}`, `{"s":"x","x":1}`, []string{"n: null dropped", "b: null dropped"}},
		{"through a reference of the schema", `{"ref":"5"}`, `{"ref":5}`, []string{`ref: "5" → 5`}},
		{"reference in a string", `{"rows":"{\"$from\":\"r1aa\"}"}`, `{"rows":{"$from":"r1aa"}}`, []string{`rows: "{\"$from\":\"r1aa\"}" → object`}},
		{"null in an open place kept", `{"any":null,"maybe":null}`, `{"any":null,"maybe":null}`, nil},
		{"null for the required kept", `{"must":null}`, `{"must":null}`, nil},
		{"unknown null kept", `{"zzz":null}`, `{"zzz":null}`, nil},
		{"string stays where strings go", `{"s":"5","either":"5","any":"5"}`, `{"s":"5","either":"5","any":"5"}`, nil},
		{"fraction is no integer", `{"n":"5.5"}`, `{"n":"5.5"}`, nil},
		{"words are no number", `{"n":"five"}`, `{"n":"five"}`, nil},
		{"wrong enum value stays", `{"e":"A"}`, `{"e":"A"}`, nil},
		{"scalar for a list of anything stays", `{"l":1,"rows":1}`, `{"l":1,"rows":1}`, nil},
		{"references are left alone", `{"n":{"$from":"5"},"o":{"$literal":{"$from":"5"}}}`, `{"n":{"$from":"5"},"o":{"$literal":{"$from":"5"}}}`, nil},
		{"spelling of the rest kept", `{ "x" : 1.0 ,"n":"1", "s":"\u00e9" }`, `{ "x" : 1.0 ,"n":1, "s":"\u00e9" }`, []string{`n: "1" → 1`}},
	}
	s := mustCompile(t, repairSchema)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, notes := s.Repair(json.RawMessage(tt.in))
			if string(got) != tt.out {
				t.Errorf("got %s, want %s", got, tt.out)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRepairManyNotes(t *testing.T) {
	s := mustCompile(t, `{"properties":{"l":{"items":{"type":"integer"}}}}`)
	_, notes := s.Repair(json.RawMessage(`{"l":[` + strings.Repeat(`"1",`, 99) + `"1"]}`))
	if len(notes) != maxNotes+1 || notes[maxNotes] != "+90 more" {
		t.Errorf("got %d notes, the last %q", len(notes), notes[len(notes)-1])
	}
}

// fuzzSchemas are what the fuzz targets check against.
var fuzzSchemas = []string{
	repairSchema,
	`{"oneOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}},{"properties":{"b":{"type":["array","null"],"items":{"type":"boolean"}}},"additionalProperties":false}]}`,
	`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"v":{"enum":[1,"x",null,[1]]}},"not":{"required":["no"]}}}}`,
	`{"properties":{"a":{"allOf":[{"type":["integer","string"]},{"type":["string","array"]}]},"b":{"const":{"x":1}}},"patternProperties":{"^n_":{"type":"number"}},"if":{"required":["a"]},"then":{"required":["b"]}}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"t":{"type":"array","items":[{"type":"integer"},{"type":"boolean"}],"additionalItems":{"type":"string"}}}}`,
}

func FuzzRepair(f *testing.F) {
	for i := range fuzzSchemas {
		for _, in := range []string{`{"n":"5","tags":"a","o":"{\"n\":\"1\"}"}`, `{"a":"1","b":null}`, `{"next":{"next":null,"v":"1"},"n_x":"1.10"}`, `{"t":["1","true",3]}`} {
			f.Add(i, []byte(in))
		}
	}
	var schemas []*Schema
	for _, s := range fuzzSchemas {
		schemas = append(schemas, mustCompile(f, s))
	}
	f.Fuzz(func(t *testing.T, i int, in []byte) {
		s := schemas[uint(i)%uint(len(schemas))]
		err := s.Check(in)
		got, notes := s.Repair(in)
		if err == nil && (len(notes) > 0 || string(got) != string(in)) {
			t.Fatalf("valid %s became %s (%v)", in, got, notes)
		}
		if json.Valid(in) && !json.Valid(got) {
			t.Fatalf("%s became no JSON: %s", in, got)
		}
		var inv *Invalid
		if err != nil && (!errors.As(err, &inv) || len(inv.Problems) == 0 || len(err.Error()) > 20_000) {
			t.Fatalf("odd error %v", err)
		}
	})
}
