package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits on a schema. Past them Compile refuses it: a schema comes from a server that may be
// hostile, and compiling costs time with the square of its size.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaNodes = 5000
	maxSchemaDepth = 100
)

// freeSteps and stepsPerByte of arguments bound the subschemas one Check evaluates; a few nested
// references are enough to ask for more than any machine can do.
const (
	freeSteps    = 20_000
	stepsPerByte = 2
)

// ErrSchemaTooBig is returned by Compile for a schema over its limits.
var ErrSchemaTooBig = errors.New("schema too big")

// where the schema is said to live. Nothing is ever loaded from there.
const schemaURL = "https://schema.invalid/arguments.json"

// Schema is a compiled schema of a tool's arguments. It is safe for concurrent use.
type Schema struct {
	root  *jsonschema.Schema
	place place    // the root's alternatives
	names []string // the root's own properties in the order of the schema
	plain *plain   // nil unless the schema is flat and simple

	mu    sync.Mutex // one evaluation at a time: steps counts it
	steps *counter
}

// Compile reads a JSON schema of any draft; an unknown or missing `$schema` means 2020-12, an empty
// schema allows everything. It is tolerant where that costs only checks (a pattern Go does not
// understand, an unknown type, null for a keyword: such a keyword is ignored), loads nothing from
// anywhere, and never asserts formats. The error means that calls must go unchecked.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("compile schema: %v", p)
		}
	}()
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("compile schema of %d bytes: %w", len(raw), ErrSchemaTooBig)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	if err := new(tidier).check(doc, 0); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	tidy(doc)
	s = &Schema{steps: &counter{}, names: ownNames(raw), plain: plainOf(raw)}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	c.AssertFormat() // keeps the format's name in the compiled schema, for examples
	for _, name := range formatNames {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	c.AssertVocabs()
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: "https://schema.invalid/steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return s.steps, nil
		},
	})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	if s.root, err = c.Compile(schemaURL); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	s.place = placeOf(s.root)
	return s, nil
}

var formatNames = []string{
	"date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri",
	"iri-reference", "json-pointer", "period", "relative-json-pointer", "semver", "time", "uri", "uri-reference",
	"uri-template", "uuid",
}

// Has reports whether the schema names key as a property of the arguments.
func (s *Schema) Has(key string) bool { return s.place.declares(key) }

// Properties returns the names of the properties: the schema's own in its order, then those of its
// branches by name.
func (s *Schema) Properties() []string {
	names := slices.Clone(s.names)
	for _, name := range s.place.names() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// ownNames returns the keys of `properties` in order.
func ownNames(raw json.RawMessage) []string {
	o, err := ParseObject(raw)
	if err != nil {
		return nil
	}
	v, _ := o.Get("properties")
	props, err := ParseObject(v)
	if err != nil {
		return nil
	}
	return props.Keys()
}

// noLoader refuses every reference that leaves the schema.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema", url)
}

// counter counts the evaluations of subschemas and ends a Check that takes too many.
type counter struct{ left int }

// errTooManySteps is what counter panics with; evaluate recovers it.
var errTooManySteps = errors.New("too many steps")

func (c *counter) Validate(*jsonschema.ValidatorContext, any) {
	if c.left--; c.left < 0 {
		panic(errTooManySteps)
	}
}

// evaluate runs the validator. It returns nil also when the value could not be decided within
// steps or the validator broke on it: then the server decides.
func (s *Schema) evaluate(doc any, steps int) (verr *jsonschema.ValidationError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if recover() != nil {
			verr = nil
		}
	}()
	s.steps.left = steps
	if err := s.root.Validate(doc); err != nil {
		errors.As(err, &verr)
	}
	return verr
}
