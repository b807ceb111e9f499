package signature

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// realSchemas are the input schemas of a JSON list of tools as real servers offer them. It lies beside a checkout where
// it is there at all.
func realSchemas(t testing.TB) []json.RawMessage {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "retrieval", "real", "catalog.json"))
	if err != nil {
		t.Skipf("no catalog of real servers beside the project: %v", err)
	}
	var schemas []json.RawMessage
	for tool := range rawjson.Elements(data) {
		if s := rawjson.Member(tool, "inputSchema"); s != nil && string(s) != "null" {
			schemas = append(schemas, s)
		}
	}
	return schemas
}

func TestRealSchemasStayWithinBounds(t *testing.T) {
	schemas, total := realSchemas(t), 0
	for _, s := range schemas {
		checkBounds(t, s)
		line := Parameters(s, MaxLine)
		if n := len(Params(s)); n == 0 != (line == "") {
			t.Errorf("%d parameters and the line %q", n, line)
		}
		total += len(line)
	}
	t.Logf("%d lines, %d bytes on average", len(schemas), total/max(len(schemas), 1))
}

func BenchmarkParameters(b *testing.B) {
	schemas := realSchemas(b)
	for b.Loop() {
		for _, s := range schemas {
			Parameters(s, MaxLine)
		}
	}
}
