package arguments

import (
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits on patterns: their length, and the size of the program that runs them over each string.
const (
	maxPattern      = 1000
	maxPatternInsts = 20_000
	maxPatternWork  = 50_000_000 // instructions × bytes; above it the string is not asked
)

// pattern is a compiled `pattern` with what one match may cost.
type pattern struct {
	*regexp.Regexp
	insts int
}

// MatchString reports a match, and true for strings too long to be asked.
func (p pattern) MatchString(s string) bool {
	return len(s)*p.insts > maxPatternWork || p.Regexp.MatchString(s)
}

func compilePattern(s string) (jsonschema.Regexp, error) {
	if len(s) > maxPattern {
		return nil, fmt.Errorf("pattern of %d bytes", len(s))
	}
	parsed, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxPatternInsts {
		return nil, fmt.Errorf("pattern of %d instructions", len(prog.Inst))
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	return pattern{re, len(prog.Inst)}, nil
}

// tidier counts a decoded schema's parts.
type tidier struct{ nodes int }

// check refuses what would be too dear to compile or to evaluate.
func (t *tidier) check(v any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("%d levels deep: %w", depth, ErrSchemaTooBig)
	}
	switch v := v.(type) {
	case map[string]any:
		if t.nodes++; t.nodes > maxSchemaNodes {
			return fmt.Errorf("more than %d parts: %w", maxSchemaNodes, ErrSchemaTooBig)
		}
		for _, sub := range v {
			if err := t.check(sub, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, sub := range v {
			if err := t.check(sub, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		if !sane(v.String()) {
			return fmt.Errorf("number %s: %w", clip(v.String(), 40), ErrSchemaTooBig)
		}
	}
	return nil
}

// sane reports whether a number can be computed with exactly at small cost.
func sane(number string) bool {
	if len(number) > 400 {
		return false
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return true
	}
	exp, err := strconv.Atoi(strings.TrimPrefix(number[i+1:], "+"))
	return err == nil && exp >= -400 && exp <= 400
}

var (
	knownTypes = []string{"null", "boolean", "number", "integer", "string", "array", "object"}
	knownMeta  = []string{"draft-04", "draft-06", "draft-07", "2019-09", "2020-12"}

	// keywords whose value is a schema, a list of schemas, or an object of schemas
	schemaKeywords = []string{"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items",
		"not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "prefixItems"}
	schemaMaps = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// tidy takes out of a decoded schema, in place, the keywords that would make it fail to compile
// and that only narrow what is allowed.
func tidy(v any) {
	switch v := v.(type) {
	case []any:
		for _, sub := range v {
			tidy(sub)
		}
	case map[string]any:
		tidyKeywords(v)
		for _, k := range schemaKeywords {
			tidy(v[k])
		}
		for _, k := range schemaMaps {
			if m, ok := v[k].(map[string]any); ok {
				for _, sub := range m {
					tidy(sub)
				}
			}
		}
	}
}

func tidyKeywords(m map[string]any) {
	for k, v := range m {
		if v == nil && k != "default" && k != "const" {
			delete(m, k)
		}
	}
	if url, ok := m["$schema"].(string); !ok || !isKnownMeta(url) {
		delete(m, "$schema")
	}
	if p, ok := m["pattern"].(string); ok {
		if _, err := compilePattern(p); err != nil {
			delete(m, "pattern")
		}
	}
	if m["format"] == "regex" { // would be asserted with Go's syntax
		delete(m, "format")
	}
	if _, ok := m["required"].([]any); !ok {
		delete(m, "required")
	}
	if list, ok := m["enum"].([]any); !ok || len(list) == 0 {
		delete(m, "enum")
	}
	tidyType(m)
	props, _ := m["patternProperties"].(map[string]any)
	for p := range props {
		if _, err := compilePattern(p); err != nil {
			delete(props, p)
			delete(m, "additionalProperties") // it would refuse what the pattern allowed
			delete(m, "unevaluatedProperties")
		}
	}
}

// tidyType drops a `type` that names an unknown type: anything may be meant by it.
func tidyType(m map[string]any) {
	switch t := m["type"].(type) {
	case string:
		if !slices.Contains(knownTypes, t) {
			delete(m, "type")
		}
	case []any:
		for _, name := range t {
			if s, ok := name.(string); !ok || !slices.Contains(knownTypes, s) {
				delete(m, "type")
				return
			}
		}
		if len(t) == 0 {
			delete(m, "type")
		}
	default:
		delete(m, "type")
	}
}

func isKnownMeta(url string) bool {
	return strings.Contains(url, "json-schema.org/") &&
		slices.ContainsFunc(knownMeta, func(draft string) bool { return strings.Contains(url, draft+"/schema") })
}
