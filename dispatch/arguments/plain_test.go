package arguments

import (
	"encoding/json"
	"testing"
)

const plainSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"s":{"type":"string","description":"d"},"n":{"type":"number"},"i":{"type":"integer","default":1},"b":{"type":"boolean"}},"required":["s"]}`

func TestPlain(t *testing.T) {
	for _, tc := range []struct {
		name, schema string
		plain        bool
	}{
		{"flat scalars", plainSchema, true},
		{"closed", `{"type":"object","properties":{},"additionalProperties":false}`, true},
		{"an enum", `{"type":"object","properties":{"s":{"type":"string","enum":["a"]}}}`, false},
		{"a list", `{"type":"object","properties":{"l":{"type":"array"}}}`, false},
		{"two types", `{"type":"object","properties":{"s":{"type":["string","null"]}}}`, false},
		{"no type", `{"properties":{"s":{"type":"string"}}}`, false},
		{"alternatives", `{"type":"object","anyOf":[{}]}`, false},
		{"a schema for the rest", `{"type":"object","additionalProperties":{"type":"string"}}`, false},
		{"true", `true`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := plainOf(json.RawMessage(tc.schema)) != nil; got != tc.plain {
				t.Errorf("got %v, want %v", got, tc.plain)
			}
		})
	}
}

// FuzzPlain holds that what a glance lets through, the validator lets through.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{`{"s":"x"}`, `{"s":"x","i":1.0}`, `{"s":"x","s":"y"}`, `{"s":"","n":1e999}`, `{"s":"x","other":[{"a":1,"a":2}]}`, `{}`, `{"s":"\ud800"}`, ` {"s":"x","b":true,"n":-1.5} `} {
		f.Add(s)
	}
	s, err := Compile(json.RawMessage(plainSchema))
	if err != nil {
		f.Fatal(err)
	}
	if s.plain == nil {
		f.Fatal("the schema is not plain")
	}
	f.Fuzz(func(t *testing.T, args string) {
		if !s.plain.fits(json.RawMessage(args)) {
			return
		}
		full, err := Compile(json.RawMessage(plainSchema))
		if err != nil {
			t.Fatal(err)
		}
		full.plain = nil
		if err := full.Check(json.RawMessage(args)); err != nil {
			t.Errorf("%s: got %v, want it to fit", args, err)
		}
	})
}
