package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// schemaFile is where editors find the schema.
const schemaFile = "../../../docs/configuration.schema.json"

func TestSchemaIsCurrent(t *testing.T) {
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/configuration.schema.json is not current (-file +now), -update writes it:\n%s", diff)
	}
}

// TestSchemaFits holds every good configuration of the tests against the schema, and one with a wrong key.
func TestSchemaFits(t *testing.T) {
	raw, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, data []byte) error {
		root, faults := notation.Parse(name, data)
		if len(faults) > 0 {
			t.Fatalf("%s: %v", name, faults)
		}
		text, err := root.JSON(func(n *notation.Node) string { return n.Text })
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	archives, _ := filepath.Glob("testdata/load/*.txtar")
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		env := ""
		for _, f := range a.Files {
			if f.Name == "env" {
				env = string(f.Data)
			}
		}
		for _, f := range a.Files {
			if !strings.HasSuffix(f.Name, ".yaml") || strings.HasPrefix(f.Name, "want ") {
				continue
			}
			cfg, err := Parse(f.Name, f.Data, environment(env))
			if err != nil || len(cfg.Ignored) > 0 {
				continue // not ours, or wrong
			}
			if err := check(f.Name, f.Data); err != nil {
				t.Errorf("%s: %s: %v", name, f.Name, err)
			}
		}
	}
	for _, wrong := range []string{"mcpServer: {}", "views: {v: {exposur: direct}}", "mcpServers: {a: {comand: x}}", "spill: {ttl: [1]}", "hooks: {pre_call: {comand: x}}"} {
		if check("wrong.yaml", []byte(wrong)) == nil {
			t.Errorf("%s fits", wrong)
		}
	}
}

// TestSchemaKnowsAll holds that everything read by parts stands in the configuration with every key.
func TestSchemaKnowsAll(t *testing.T) {
	root, _ := notation.Parse("everything.yaml", everything)
	d := newDecoder("everything.yaml", environment(""), &problems{file: "everything.yaml"})
	d.asked = &asked{map[string][]question{}, map[string]bool{}}
	d.root(root)
	if err := d.err(); err != nil {
		t.Fatal(err)
	}
	for _, where := range d.asked.unsampled(root) {
		if strings.HasSuffix(where, "env_http_headers.") { // a client's
			continue
		}
		t.Errorf("%s: put it into everything.yaml, so that the schema knows its keys", where)
	}
	if raw, err := Schema(); err != nil || !json.Valid(raw) {
		t.Errorf("got %s, %v", raw, err)
	}
}
