package tests

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/proxy-dispatch/proxy-dispatch/"

// table says which rooms of ours a room may import; "*" is every room below cmd.
var table = map[string][]string{
	"rawjson":              {},
	"wholefile":            {},
	"catalog/clean":        {},
	"catalog/signature":    {"rawjson", "catalog/clean"},
	"catalog":              {"rawjson", "catalog/clean", "catalog/signature"},
	"catalog/trust":        {"rawjson", "catalog", "catalog/clean", "wholefile"},
	"downstream":           {"rawjson", "downstream/process", "downstream/remote", "downstream/wire"},
	"downstream/process":   {},
	"downstream/oauth":     {"wholefile"},
	"downstream/remote":    {"rawjson", "downstream/wire"},
	"downstream/wire":      {"rawjson"},
	"search/lexicon":       {},
	"search":               {"search/lexicon"},
	"search/embeddings":    {},
	"search/eval":          {"search"},
	"tokens":               {},
	"spill":                {"rawjson", "tokens", "spill/brief", "spill/byline", "spill/fault", "spill/grep", "spill/jq", "spill/layout", "spill/shape", "spill/store", "spill/tabular"},
	"spill/brief":          {},
	"spill/byline":         {},
	"spill/fault":          {},
	"spill/grep":           {"spill/byline", "spill/fault"},
	"spill/jq":             {"rawjson", "spill/brief", "spill/fault"},
	"spill/layout":         {"rawjson"},
	"spill/shape":          {"rawjson", "spill/brief", "spill/byline", "spill/layout"},
	"spill/tabular":        {"rawjson", "spill/fault"},
	"spill/bucket":         {"spill/store", "spill/fault"},
	"spill/spilltest":      {"spill/store"},
	"spill/store":          {"spill/fault"},
	"dispatch/arguments":   {"rawjson"},
	"dispatch/view":        {"rawjson", "catalog"},
	"dispatch/script":      {},
	"dispatch/composite":   {"rawjson"},
	"hook":                 {"rawjson", "dispatch", "dispatch/arguments"},
	"hook/outside":         {"rawjson", "dispatch", "dispatch/arguments", "dispatch/script", "downstream/process"},
	"dispatch":             {"rawjson", "catalog", "catalog/clean", "catalog/signature", "search", "spill", "tokens", "dispatch/view", "dispatch/arguments"},
	"serve":                {"rawjson", "dispatch", "serve/framing", "serve/replay", "serve/seal"},
	"serve/framing":        {},
	"serve/replay":         {},
	"serve/seal":           {},
	"serve/auth":           {"wholefile"},
	"serve/transparent":    {"rawjson", "catalog", "dispatch", "dispatch/view", "serve"},
	"serve/proxyface":      {"rawjson", "catalog", "dispatch", "dispatch/view", "dispatch/arguments", "serve"},
	"serve/viewface":       {"rawjson", "catalog", "dispatch", "dispatch/view", "dispatch/arguments", "serve"},
	"client":               {"rawjson"},
	"builtin":              {},
	"cmd/internal/config":  {"*", "cmd/internal/config/minia", "cmd/internal/config/notation", "cmd/internal/config/secret", "cmd/internal/config/variable"},
	"cmd/internal/observe": {"*"},
	"cmd/internal/control": {},
	"cmd/proxy-dispatch":   {"*", "cmd/internal/config", "cmd/internal/config/clients", "cmd/internal/config/edit", "cmd/internal/config/notation", "cmd/internal/config/secret", "cmd/internal/control", "cmd/internal/observe"},

	"cmd/internal/config/clients":  {"cmd/internal/config", "cmd/internal/config/notation", "cmd/internal/config/variable"},
	"cmd/internal/config/minia":    {"cmd/internal/config/notation"},
	"cmd/internal/config/notation": {},
	"cmd/internal/config/secret":   {},
	"cmd/internal/config/edit":     {"cmd/internal/config/notation"},
	"cmd/internal/config/variable": {},
}

// heavy says which rooms may import a library that must not spread.
var heavy = map[string][]string{
	"github.com/blevesearch/":          {"search"},
	"github.com/pkoukk/tiktoken-go":    {"tokens"},
	"github.com/mark3labs/mcp-go":      {"downstream", "downstream/remote", "serve", "client", "builtin", "cmd/proxy-dispatch"},
	"github.com/minio/":                {"spill/bucket"},
	"github.com/coreos/go-oidc":        {"serve/auth"},
	"github.com/fsnotify/":             {"cmd/proxy-dispatch"},
	"github.com/modelcontextprotocol/": {"downstream/oauth"},
	"github.com/itchyny/gojq":          {"spill/jq"},
	"github.com/spf13/cobra":           {"cmd/proxy-dispatch"},
	"github.com/prometheus/":           {"cmd/internal/observe"},
	"go.opentelemetry.io/":             {"cmd/internal/observe"},
	"go.yaml.in/yaml":                  {"cmd/internal/config/edit", "cmd/internal/config/notation", "cmd/internal/config/clients", "cmd/proxy-dispatch"},
	"github.com/tailscale/hujson":      {"cmd/internal/config/edit", "cmd/internal/config/notation", "cmd/internal/config/clients", "cmd/proxy-dispatch"},
	"github.com/santhosh-tekuri/jsons": {"dispatch/arguments"},
	"modernc.org/":                     {"dispatch/script"},
}

type pack struct {
	ImportPath, Dir, Doc string
	Imports, Deps        []string
	Module               *struct{ Path string }
	Error                *struct{ Err string }
}

// packages lists the packages of this module as the go command sees them.
func packages(t *testing.T) map[string]pack {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,Imports,Deps,Error,Module", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	list := map[string]pack{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pack
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("parse go list: %v", err)
		}
		list[strings.TrimPrefix(p.ImportPath, module)] = p
	}
}

func allowed(room, imported string) bool {
	rules := table[room]
	return slices.Contains(rules, imported) || slices.Contains(rules, "*") && !strings.HasPrefix(imported, "cmd/")
}

func inTests(room string) bool { return room == "tests" || strings.HasPrefix(room, "tests/") }

func TestImports(t *testing.T) {
	for room, p := range packages(t) {
		if p.Error != nil {
			t.Errorf("%s: %s", room, p.Error.Err)
		}
		if inTests(room) {
			continue
		}
		if _, ok := table[room]; !ok {
			t.Errorf("%s has no row in the import table: a new room is a decision, write it into docs/design.md and here", room)
			continue
		}
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, module); ok && !allowed(room, ours) {
				t.Errorf("%s imports %s, which the table does not allow", room, ours)
			}
			for lib, rooms := range heavy {
				if strings.HasPrefix(i, lib) && !slices.Contains(rooms, room) {
					t.Errorf("%s imports %s, which belongs behind %v", room, i, rooms)
				}
			}
		}
	}
}

// TestEmbedding keeps dispatch usable in somebody else's program: without a server, a client or a command line.
func TestEmbedding(t *testing.T) {
	list := packages(t)
	for _, d := range list["dispatch"].Deps {
		for _, not := range []string{"github.com/mark3labs/", "github.com/spf13/", "go.opentelemetry.io/", "github.com/prometheus/", module + "serve", module + "downstream"} {
			if strings.HasPrefix(d, not) {
				t.Errorf("dispatch depends on %s", d)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	list := packages(t)
	var depth func(room string) int
	depth = func(room string) int {
		deepest := 0
		for _, i := range list[room].Imports {
			if ours, ok := strings.CutPrefix(i, module); ok {
				deepest = max(deepest, depth(ours))
			}
		}
		return deepest + 1
	}
	for room := range list {
		if d := depth(room); d > 8 && !inTests(room) {
			t.Errorf("%s stands on %d floors of ours, want at most 8", room, d)
		}
	}
}
