package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// everything is a configuration that has every key which holds further keys.
//
//go:embed everything.yaml
var everything []byte

// asked are the keys that the decoder asked for, by the place they stand in, and the places it read by parts; nil notes
// nothing.
type asked struct {
	keys  map[string][]question
	parts map[string]bool
}

type question struct {
	keys   []string // spellings, the first one is ours
	kind   string   // what the reader expects; "" is not said
	values []string
}

// note remembers a question; a later one that says more of a key wins.
func (a *asked) note(where string, keys []string, kind string, values ...string) {
	if a == nil {
		return
	}
	for i := range a.keys[where] {
		q := &a.keys[where][i]
		if !slices.Contains(q.keys, keys[0]) { // it may be the spelling that was found
			continue
		}
		if kind != "" {
			q.kind, q.values = kind, values
		}
		for _, k := range keys {
			if !slices.Contains(q.keys, k) {
				q.keys = append(q.keys, k)
			}
		}
		return
	}
	a.keys[where] = append(a.keys[where], question{slices.Clone(keys), kind, values})
}

// part notes that a place is read by parts.
func (a *asked) part(where string) {
	if a != nil && strings.HasSuffix(where, ".") { // not the file as a whole
		a.parts[where] = true
	}
}

// Schema returns a JSON Schema of our configuration files, for editors. It is made of what the decoder asks for.
func Schema() ([]byte, error) {
	const name = "everything.yaml"
	root, faults := notation.Parse(name, everything)
	if err := ErrorsOf(name, faults); err != nil {
		return nil, err
	}
	d := newDecoder(name, func(string) (string, bool) { return "", false }, &problems{file: name})
	d.asked = &asked{map[string][]question{}, map[string]bool{}}
	d.root(root)
	if err := d.err(); err != nil {
		return nil, fmt.Errorf("read the configuration with every key: %w", err)
	}
	s := &schemaWriter{asked: d.asked, names: map[string]string{}}
	body := s.object("", root)
	body = append([]byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"proxy-dispatch",`), body[1:len(body)-1]...)
	body = append(body, `,"$defs":{`+strings.Join(s.defs, ",")+`}}`...)
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		return nil, fmt.Errorf("print the schema: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// schemaWriter writes each part once, under $defs.
type schemaWriter struct {
	asked *asked
	names map[string]string // of parts, by what they say
	defs  []string
}

// define returns a reference to a part.
func (s *schemaWriter) define(body []byte) []byte {
	name := s.names[string(body)]
	if name == "" {
		name = fmt.Sprintf("part%d", len(s.names)+1)
		s.names[string(body)] = name
		s.defs = append(s.defs, fmt.Sprintf("%q:%s", name, body))
	}
	return []byte(`{"$ref":"#/$defs/` + name + `"}`)
}

// anyName is a key of the configuration with every key that stands for any name.
var anyName = regexp.MustCompile(`^[A-Z]{2,}$`)

// text and numbers may be written as ${VAR}, so all of them may be texts.
var kinds = map[string]string{
	"text":     `{"type":["string","number","boolean","null"]}`,
	"texts":    `{"anyOf":[{"type":["string","null"]},{"type":"array","items":{"type":["string","number","boolean"]}}]}`,
	"bool":     `{"type":["boolean","string","null"]}`,
	"number":   `{"type":["integer","string","null"]}`,
	"duration": `{"type":["number","string","null"]}`,
	"any":      `{}`,
}

// object is the schema of a mapping of which the keys are known, or of one of any names.
func (s *schemaWriter) object(where string, n *notation.Node) []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":["object","null"],`)
	known := s.asked.keys[where]
	if len(known) == 0 || len(n.Members) > 0 && anyName.MatchString(n.Members[0].Key) {
		b.WriteString(`"additionalProperties":`)
		b.Write(s.anyOf(where, n))
		b.WriteByte('}')
		return b.Bytes()
	}
	b.WriteString(`"properties":{`)
	for i, q := range known {
		for j, key := range q.keys {
			if i+j > 0 {
				b.WriteByte(',')
			}
			name, _ := json.Marshal(key)
			b.Write(name)
			b.WriteByte(':')
			b.Write(s.value(where, q, n))
		}
	}
	b.WriteString(`},"additionalProperties":false}`)
	return b.Bytes()
}

// anyOf is the schema of the values of a mapping of any names: all have that of the first.
func (s *schemaWriter) anyOf(where string, n *notation.Node) []byte {
	if len(n.Members) == 0 {
		return []byte("{}")
	}
	best := n.Members[0]
	for _, m := range n.Members { // servers differ; the one that was asked for most tells most
		if len(s.asked.keys[where+m.Key+"."]) > len(s.asked.keys[where+best.Key+"."]) {
			best = m
		}
	}
	return s.node(where+best.Key+".", best.Value)
}

// value is the schema of one key.
func (s *schemaWriter) value(where string, q question, n *notation.Node) []byte {
	if q.kind == "enum" {
		values, _ := json.Marshal(q.values)
		return []byte(`{"anyOf":[{"enum":` + string(values) + `},{"type":"null"},{"type":"string","pattern":"\\$\\{"}]}`)
	}
	if schema, ok := kinds[q.kind]; ok {
		return []byte(schema)
	}
	for _, key := range q.keys {
		if child := n.Get(key); child != nil {
			return s.node(where+key+".", child)
		}
	}
	return []byte("{}")
}

// node is the schema of a value that is read by parts: as it stands in the configuration with every key, or in short.
func (s *schemaWriter) node(where string, n *notation.Node) []byte {
	switch n.Kind {
	case notation.Mapping:
		return append(append([]byte(`{"anyOf":[`), s.define(s.object(where, n))...), `,{"type":["string","number","boolean","array"]}]}`...)
	case notation.List:
		item := []byte("{}")
		if m := merged(n); len(m.Members) > 0 {
			item = s.define(s.node(where, m))
		}
		return []byte(`{"anyOf":[{"type":"array","items":` + string(item) + `},` + string(item) + `]}`)
	}
	return []byte("{}")
}

// merged are the mappings of a list as one.
func merged(list *notation.Node) *notation.Node {
	out := &notation.Node{Kind: notation.Mapping}
	for _, item := range list.Items {
		for _, m := range item.Members {
			if out.Get(m.Key) == nil {
				out.Put(m.Key, m.Value)
			}
		}
	}
	return out
}

// unsampled names the places that are read by parts but do not stand in the configuration with every key, so that their
// keys are not known: for the test that keeps it whole.
func (a *asked) unsampled(root *notation.Node) (out []string) {
	for where := range a.parts {
		n := root
		for key := range strings.SplitSeq(strings.TrimSuffix(where, "."), ".") {
			if n != nil && n.Kind == notation.List {
				n = merged(n)
			}
			if key != "" {
				n = n.Get(key)
			}
		}
		if n == nil {
			out = append(out, where)
		}
	}
	slices.Sort(out)
	return out
}
