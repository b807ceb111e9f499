package builtin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the path, nothing outside the root is read or changed.
func FuzzPath(f *testing.F) {
	for _, p := range []string{"a.txt", "../secret.txt", "/etc/passwd", "notes/../../secret.txt", "a\x00b", `..\secret.txt`, ".", "", "~/x", "C:\\x", "out/../.."} {
		f.Add(p)
	}
	root, secret := tree(f)
	if err := os.Symlink("..", filepath.Join(root, "up")); err != nil {
		f.Skip(err)
	}
	s := utils(f, UtilsOptions{Roots: []string{root}, MaxBytes: 1000})
	f.Fuzz(func(t *testing.T, path string) {
		for _, args := range []string{object(t, "path", path), object(t, "operation", "search", "path", path, "pattern", "secret")} {
			if a := call(t, s, "filesystemQuery", args); !a.IsError && strings.Contains(a.text(), "the secret") {
				t.Errorf("%q reads the secret", path)
			}
		}
		call(t, s, "filesystemModify", object(t, "operation", "append", "path", path, "content", "x"))
		if got, err := os.ReadFile(secret); err != nil || string(got) != "the secret\n" {
			t.Fatalf("%q changed the secret to %q, %v", path, got, err)
		}
	})
}

func FuzzGlob(f *testing.F) {
	for _, p := range []string{"*.go", "src/**/*.go", "[a-z]/x", "**", "a/[", "/", "a/?b", "a/{x}"} {
		f.Add(p, "src/x/main.go")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if match, err := globber(pattern); err == nil {
			match(path)
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, a := range []string{`{}`, `{"path":"a.txt"}`, `{"operation":"glob","pattern":"**"}`, `null`, `[]`, `{"byteStart":-1,"path":"a.txt"}`, `{"lineStart":-5,"lineEnd":-9,"path":"a.txt"}`, `{"rows":[{}],"sum":"a"}`, `{"rows":9223372036854775807,"offset":9223372036854775807}`} {
		f.Add(a)
	}
	root, _ := tree(f)
	u := utils(f, UtilsOptions{Roots: []string{root}, ReadOnly: true, MaxBytes: 1000})
	d := dataset(f, DatasetOptions{Rows: 50})
	f.Fuzz(func(t *testing.T, args string) {
		if !json.Valid([]byte(args)) {
			return
		}
		call(t, u, "filesystemQuery", args)
		for _, tool := range []string{"query_rows", "aggregate_rows", "log_lines", "describe_table"} {
			call(t, d, tool, args)
		}
	})
}
