package signature

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestType(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"comments and constraints", object(`"limit":{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"How many.\n\n At most 100. */ "},"q":{"type":"string","pattern":"^\\d+$","format":"x","minLength":1},"old":{"deprecated":true}`, `"required":["q"]`, `"description":"of the tool"`), `
{
  /**
   * How many.
   * At most 100. *\/
   * @integer @minimum 1 @maximum 100 @default 10
   */
  limit?: number;
  /** @format x @minLength 1 @pattern ^\d+$ */
  q: string;
  /** @deprecated */
  old?: any;
}`},
		{"long comment", object(`"a":{"description":"one\ntwo\nthree"}`), `
{
  /**
   * one
   * two
   * three
   */
  a?: any;
}`},
		{"all depths", object(`"a":{"properties":{"b":{"properties":{"c":{"properties":{"d":{"type":"string","description":"deep"}}}}}}}`), `
{
  a?: {
    b?: {
      c?: {
        /** deep */
        d?: string;
      };
    };
  };
}`},
		{"elements and alternatives", object(`"a":{"type":"array","minItems":1,"items":{"type":"string","maxLength":5}},"b":{"anyOf":[{"type":"string","description":"a name"},{"type":"integer"}]}`), `
{
  /** @minItems 1 */
  a?: Array</** @maxLength 5 */ string>;
  b?: /** a name */ string|/** @integer */ number;
}`},
		{"definitions", object(`"t":{"$ref":"#/$defs/Tree"},"u":{"$ref":"#/$defs/Tree","description":"another"},"c":{"$ref":"#/$defs/Color"},"s":{"$ref":"#"}`,
			`"$defs":{"Color":{"enum":["red","blue"],"description":"A color."},"Tree":{"type":"object","description":"A tree.","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/Tree"}}}}}`), `
Root

type Root = {
  t?: Tree;
  /** another */
  u?: Tree;
  /** A color. */
  c?: "red"|"blue";
  s?: Root;
};

/** A tree. */
type Tree = {
  kids?: Tree[];
};`},
		{"records", object(`"a":{"type":"object","patternProperties":{"^x-":{"type":"string"}}},"b":{"properties":{"k":{"type":"number"}},"additionalProperties":{"type":"string"}}`), `
{
  /** @keys ^x- */
  a?: Record<string, string>;
  b?: {
    k?: number;
    [key: string]: string;
  };
}`},
		{"required alternatives", object(`"a":{},"b":{}`, `"anyOf":[{"required":["a"]},{"required":["b","c-d"]}]`), `
/** @requires a, or b + "c-d" */
{
  a?: any;
  b?: any;
}`},
		{"nothing", `{"type":"object"}`, `object`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Type(json.RawMessage(tc.schema), "", MaxType)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), got); diff != "" {
				t.Errorf("Type (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTypePath(t *testing.T) {
	schema := json.RawMessage(object(
		`"filter":{"$ref":"#/$defs/F"},"a.b":{"type":"boolean"},"list":{"type":"array","items":{"properties":{"id":{"type":"integer"}}}},"pair":{"prefixItems":[{"type":"string"},{"type":"number"}]},"env":{"additionalProperties":{"type":"string"}},"items":{"type":"null"}`,
		`"$defs":{"F":{"description":"A filter.","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/F"}},"v":{"const":1}}}}`,
		`"oneOf":[{"properties":{"x":{"type":"string"}}},{"properties":{"x":{"type":"number"}}}]`))
	for _, tc := range []struct{ path, want, fails string }{
		{path: "filter.v", want: "1"},
		{path: "filter.and.items.and[].v", want: "1"},
		{path: ".filter.and[0].v", want: "1"},
		{path: `["a.b"]`, want: "boolean"},
		{path: "list[].id", want: "/** @integer */\nnumber"},
		{path: "list.0.id", want: "/** @integer */\nnumber"},
		{path: "pair[1]", want: "number"},
		{path: "pair[]", want: "string|number"},
		{path: "env.HOME", want: "string"},
		{path: "env.*", want: "string"},
		{path: "items", want: "null"},
		{path: "x", want: "string|number"},
		{path: "nope", fails: `no "nope" at the top; there are "a.b", env, filter, items, list, pair, x`},
		{path: "filter.nope", fails: `no "nope" under "filter"; there are and, v`},
		{path: "filter.v.nope", fails: `nothing is said under "filter.v" about "nope"`},
		{path: "pair[2]", fails: `"2"`},
		{path: strings.Repeat("a.", 100), fails: "more than 64 steps"},
	} {
		t.Run(tc.path, func(t *testing.T) {
			got, err := Type(schema, tc.path, MaxType)
			if tc.fails != "" {
				if !errors.Is(err, ErrNoPath) || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("Type error = %v, want ErrNoPath with %q", err, tc.fails)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("Type = %q, error %v, want %q", got, err, tc.want)
			}
		})
	}
	if _, err := Type(json.RawMessage("{"), "", MaxType); !errors.Is(err, ErrBadSchema) {
		t.Errorf("Type of invalid JSON: error = %v, want ErrBadSchema", err)
	}
}

func TestTypeWithin(t *testing.T) {
	schema := json.RawMessage(object(`"a":{"description":"` + strings.Repeat("word ", 100) + `","properties":{"b":{"properties":{"c":{"type":"string"}}}}}`))
	for _, tc := range []struct {
		max  int
		want string
	}{
		{90, "{\n  a?: {\n    b?: { /* … */ };\n  };\n}"},
		{30, "{\n  a?: { /* … */ };\n}"},
		{15, "{\n// …"},
		{3, ""},
	} {
		if got, err := Type(schema, "", tc.max); err != nil || got != tc.want {
			t.Errorf("Type(%d) = %q, error %v, want %q", tc.max, got, err, tc.want)
		}
	}
}

func FuzzPath(f *testing.F) {
	f.Add([]byte(object(`"a":{"items":{"$ref":"#"}}`)), `a[].["a"].0`)
	f.Fuzz(func(t *testing.T, schema []byte, path string) {
		got, err := Type(schema, path, 1000)
		if len(got) > 1000 || err != nil && !errors.Is(err, ErrNoPath) && !errors.Is(err, ErrBadSchema) {
			t.Errorf("Type(%q) has %d bytes, error %v", path, len(got), err)
		}
	})
}
