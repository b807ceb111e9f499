package tests

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	longestFunc = 80
	longestFile = 500
)

// walk calls visit with every file of the tree, by its slash path from the root.
func walk(t *testing.T, visit func(name string, body []byte)) {
	t.Helper()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if base == ".git" || base == "node_modules" || base == "bin" || base == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		body, err := fs.ReadFile(root, name)
		if err == nil {
			visit(name, body)
		}
		return err
	})
	if err != nil {
		t.Fatalf("walk the tree: %v", err)
	}
}

func TestSizes(t *testing.T) {
	walk(t, func(name string, body []byte) {
		if !strings.HasSuffix(name, ".go") {
			return
		}
		if n := bytes.Count(body, []byte("\n")); n > longestFile && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s has %d lines, want at most %d", name, n, longestFile)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, body, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("parse %s: %v", name, err)
			return
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !strings.HasSuffix(name, "_test.go") { // a table may be long
				if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > longestFunc {
					t.Errorf("%s: %s has %d lines, want at most %d", name, fn.Name.Name, n, longestFunc)
				}
			}
		}
		if !strings.HasSuffix(name, "_test.go") && f.Name.Name != "main" {
			exportedHaveComments(t, name, f)
		}
	})
}

func exportedHaveComments(t *testing.T, name string, f *ast.File) {
	t.Helper()
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && !methodOfHidden(d) {
				t.Errorf("%s: %s has no comment", name, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
					t.Errorf("%s: type %s has no comment", name, ts.Name.Name)
				}
			}
		}
	}
}

// methodOfHidden also lets the methods pass whose contract is the interface's: Error, String, ServeHTTP and the like.
func methodOfHidden(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	switch d.Name.Name {
	case "Error", "Unwrap", "Is", "String", "ServeHTTP", "Write", "Read", "Close", "Len", "Less", "Swap", "MarshalJSON", "UnmarshalJSON", "UnmarshalYAML":
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && !id.IsExported()
}

func TestDoors(t *testing.T) {
	for room, p := range packages(t) {
		switch last := path.Base(room); last {
		case "util", "utils", "common", "helper", "helpers", "manager", "misc":
			t.Errorf("package %s: %q says nothing", room, last)
		}
		switch {
		case room == "tests": // holds tests only, which have no package comment
		case p.Doc == "":
			t.Errorf("package %s has no sentence on its door", room)
		case strings.HasPrefix(p.Doc, "Command "), strings.HasPrefix(p.Doc, "Package "+path.Base(room)+" "):
		default:
			t.Errorf("package %s: the door says %q, want it to start with %q", room, p.Doc, "Package "+path.Base(room))
		}
	}
}

// TestUnsaid keeps out of the tree what only its makers' desks know: the places of machines, notes to oneself, tickets.
func TestUnsaid(t *testing.T) {
	forbidden := map[string]*regexp.Regexp{
		"a path of somebody's machine": regexp.MustCompile(`(^|[^\w.])/(work|root)/\w`),
		"a ticket":                     regexp.MustCompile(`(?i)\bissues? #?\d+\b|#\d+\b.{0,20}\b(issue|ticket)\b`),
		"an unfinished thought":        regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`),
		"a credential":                 regexp.MustCompile(`\b(ghp_[A-Za-z0-9]{36}|sk-[A-Za-z0-9]{32,}|AKIA[0-9A-Z]{16})\b`),
	}
	self := filepath.Join("tests", "tree_test.go")
	walk(t, func(name string, body []byte) {
		if name == self || name == ".git" || name == "go.sum" || name == "LICENSE" || bytes.IndexByte(body, 0) >= 0 {
			return
		}
		for what, re := range forbidden {
			if m := re.Find(body); m != nil {
				t.Errorf("%s names %s: %q", name, what, m)
			}
		}
	})
}

// TestEnvironment keeps the rooms deaf to the process around them: only commands read the environment and flags.
func TestEnvironment(t *testing.T) {
	deaf := regexp.MustCompile(`\bos\.(Getenv|LookupEnv|Args)\b|\bflag\.(Parse|String|Int|Bool)\(`)
	walk(t, func(name string, body []byte) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "tests/") || strings.HasPrefix(name, "cmd/") {
			return
		}
		if m := deaf.Find(body); m != nil {
			t.Errorf("%s reads %s; take it as an option", name, m)
		}
	})
}

// TestFuzzed sees to it that what parses foreign bytes is fuzzed: names, arguments, configuration, schemas, messages, read options.
func TestFuzzed(t *testing.T) {
	fuzzed := map[string]bool{}
	walk(t, func(name string, body []byte) {
		if strings.HasSuffix(name, "_test.go") && bytes.Contains(body, []byte("\nfunc Fuzz")) {
			fuzzed[path.Dir(name)] = true
		}
	})
	for _, room := range []string{"catalog", "cmd/internal/config", "dispatch", "dispatch/arguments", "dispatch/view", "downstream/wire", "serve", "spill"} {
		if !fuzzed[room] {
			t.Errorf("%s parses foreign bytes and has no fuzz target", room)
		}
	}
}
