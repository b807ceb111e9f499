package builtin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/server"
)

// tree makes a root with a few files, and a secret beside it that links lead to.
func tree(t testing.TB) (root, secret string) {
	t.Helper()
	top := t.TempDir()
	root = filepath.Join(top, "root")
	secret = filepath.Join(top, "secret.txt")
	for name, text := range map[string]string{
		"root/a.txt":         "one\ntwo\nthree\n",
		"root/notes/b.md":    "# Title\nTwo words\n",
		"root/notes/deep/c":  "no suffix, TWO",
		"root/.hidden":       "two, hidden",
		"root/bin.dat":       "a\x00b\xff",
		"root/src/x/main.go": "package main\n",
		"secret.txt":         "the secret\n",
		"rootbeer/d.txt":     "a folder whose name begins like the root\n",
	} {
		write(t, filepath.Join(top, name), text)
	}
	return root, secret
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func utils(t testing.TB, o UtilsOptions) *server.MCPServer {
	t.Helper()
	s, err := Utils(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func object(t testing.TB, kv ...any) string {
	t.Helper()
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRead(t *testing.T) {
	root, _ := tree(t)
	s := utils(t, UtilsOptions{Roots: []string{root}, MaxBytes: 200})
	write(t, filepath.Join(root, "long.txt"), strings.Repeat("0123456789", 50)+"\nend\n")
	write(t, filepath.Join(root, "letters.txt"), "äöü")
	for _, tc := range []struct {
		name, args, want string
		fails            bool
	}{
		{"whole", `{"path":"a.txt"}`, "one\ntwo\nthree\n", false},
		{"operation said", `{"operation":"read","path":"./notes/../a.txt"}`, "one\ntwo\nthree\n", false},
		{"absolute", object(t, "path", filepath.Join(root, "a.txt")), "one\ntwo\nthree\n", false},
		{"lines", `{"path":"a.txt","lineStart":2,"lineEnd":2}`, "two\n", false},
		{"most lines", `{"path":"a.txt","maxLines":1}`, "one\n", false},
		{"lines past the end", `{"path":"a.txt","lineStart":9}`, "", false},
		{"bytes", `{"path":"a.txt","byteStart":4,"byteLength":3}`, "two", false},
		{"bytes to an end", `{"path":"a.txt","byteStart":0,"byteEnd":2}`, "one", false},
		{"bytes end between letters", `{"path":"letters.txt","byteLength":3}`, "ä", false},
		{"bytes outside", `{"path":"a.txt","byteStart":99}`, "outside the file", true},
		{"a bounded part of a large file", `{"path":"long.txt","byteStart":495,"byteLength":6}`, "56789\n", false},
		{"too large", `{"path":"long.txt"}`, "more than one call gives", true},
		{"long line", `{"path":"long.txt","maxLines":1}`, "ask for fewer", true},
		{"after the long line", `{"path":"long.txt","lineStart":2}`, "end\n", false},
		{"not text", `{"path":"bin.dat"}`, "use encoding base64", true},
		{"base64", `{"path":"bin.dat","encoding":"base64"}`, "YQBi/w==", false},
		{"strange encoding", `{"path":"a.txt","encoding":"latin1"}`, "unknown", true},
		{"folder", `{"path":"notes"}`, "is a folder", true},
		{"absent", `{"path":"nothing"}`, "nothing does not exist", true},
		{"no path", `{}`, "needs path", true},
		{"unknown operation", `{"operation":"chmod","path":"a.txt"}`, "unknown", true},
		{"unknown argument", `{"path":"a.txt","mode":1}`, "mode", true},
		{"wrong type", `{"path":3}`, "path", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := call(t, s, "filesystemQuery", tc.args)
			if a.IsError != tc.fails {
				t.Fatalf("isError %v: %s", a.IsError, a.text())
			}
			if got := a.text(); !tc.fails && got != tc.want || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	a := call(t, s, "filesystemQuery", `{"path":"a.txt","countLines":true}`)
	if !strings.Contains(a.text(), `"lines":3`) {
		t.Errorf("countLines gives %s", a.text())
	}
}

func TestFind(t *testing.T) {
	root, _ := tree(t)
	s := utils(t, UtilsOptions{Roots: []string{root}})
	for _, tc := range []struct {
		name, args string
		want       []string // paths, for a search with line numbers
		truncated  bool
	}{
		{"list", `{"operation":"list"}`, []string{"a.txt", "bin.dat", "notes", "src"}, false},
		{"list hidden", `{"operation":"list","includeHidden":true}`, []string{".hidden", "a.txt", "bin.dat", "notes", "src"}, false},
		{"list deep", `{"operation":"list","path":"notes","recursive":true}`, []string{"b.md", "deep", "deep/c"}, false},
		{"list cut", `{"operation":"list","maxResults":2}`, []string{"a.txt", "bin.dat"}, true},
		{"glob name", `{"operation":"glob","pattern":"*.md"}`, []string{"notes/b.md"}, false},
		{"glob path", `{"operation":"glob","pattern":"src/**/*.go"}`, []string{"src/x/main.go"}, false},
		{"glob one folder", `{"operation":"glob","pattern":"*/*.go"}`, nil, false},
		{"glob shallow", `{"operation":"glob","pattern":"*.md","recursive":false}`, nil, false},
		{"search", `{"operation":"search","pattern":"two"}`, []string{"a.txt:2", "notes/b.md:2", "notes/deep/c:1"}, false},
		{"search case", `{"operation":"search","pattern":"TWO","caseSensitive":true}`, []string{"notes/deep/c:1"}, false},
		{"search regex", `{"operation":"search","pattern":"^t","regex":true}`, []string{"a.txt:2", "a.txt:3", "notes/b.md:2"}, false},
		{"search literal", `{"operation":"search","pattern":"t.o"}`, nil, false},
		{"search one file", `{"operation":"search","path":"a.txt","pattern":"o"}`, []string{".:1", ".:2"}, false},
		{"search cut", `{"operation":"search","pattern":"t","maxResults":1}`, []string{"a.txt:2"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := call(t, s, "filesystemQuery", tc.args)
			if a.IsError {
				t.Fatal(a.text())
			}
			got, truncated := paths(t, a.StructuredContent)
			if diff := cmp.Diff(tc.want, got); diff != "" || truncated != tc.truncated {
				t.Errorf("truncated %v, want %v; -want +got\n%s", truncated, tc.truncated, diff)
			}
		})
	}
}

func paths(t *testing.T, raw json.RawMessage) (got []string, truncated bool) {
	t.Helper()
	var v struct {
		Entries   []struct{ Path string }
		Paths     []string
		Matches   []match
		Truncated bool
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	got = v.Paths
	for _, e := range v.Entries {
		got = append(got, e.Path)
	}
	for _, m := range v.Matches {
		got = append(got, m.Path+":"+string(rune('0'+m.Line)))
	}
	if len(got) == 0 {
		got = nil
	}
	return got, v.Truncated
}

// hostile lists paths that must reach nothing, for every operation.
func hostile(t *testing.T, root, secret string) map[string]string {
	t.Helper()
	m := map[string]string{
		"parent":               "../secret.txt",
		"parent from within":   "notes/../../secret.txt",
		"absolute outside":     secret,
		"absolute with dots":   root + "/../secret.txt",
		"name like the root":   root + "beer/d.txt",
		"NUL":                  "a.txt\x00.md",
		"system file":          "/etc/passwd",
		"many parents":         strings.Repeat("../", 40) + "etc/passwd",
		"parent with slashes":  "notes//..//..//secret.txt",
		"root's parent":        "..",
		"windows parent":       `..\secret.txt`,
		"a file as a folder":   "a.txt/../../secret.txt",
		"hidden in long path":  "./" + strings.Repeat("notes/../", 20) + "../secret.txt",
		"device":               "/dev/zero",
		"process":              "/proc/self/environ",
		"absolute of no place": "/nowhere/at/all",
	}
	if runtime.GOOS != "windows" {
		top := filepath.Dir(root)
		for name, to := range map[string]string{"out.txt": secret, "rel.txt": "../secret.txt", "outdir": top, "chain": "rel.txt", "zero": "/dev/zero"} {
			if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
		m["absolute link"] = "out.txt"
		m["relative link"] = "rel.txt"
		m["link to a folder"] = "outdir/secret.txt"
		m["chain of links"] = "chain"
		m["link to a device"] = "zero"
	}
	return m
}

func TestHostilePaths(t *testing.T) {
	root, secret := tree(t)
	s := utils(t, UtilsOptions{Roots: []string{root}})
	for name, path := range hostile(t, root, secret) {
		t.Run(name, func(t *testing.T) {
			for _, q := range []string{
				object(t, "operation", "read", "path", path),
				object(t, "operation", "search", "path", path, "pattern", "secret"),
				object(t, "operation", "list", "path", path),
				object(t, "operation", "glob", "path", path, "pattern", "*"),
			} {
				if a := call(t, s, "filesystemQuery", q); !a.IsError || strings.Contains(a.text(), "the secret") {
					t.Errorf("%s gives %s", q, a.text())
				}
			}
			for _, q := range []string{
				object(t, "operation", "write", "path", path, "content", "gone"),
				object(t, "operation", "append", "path", path, "content", "gone"),
				object(t, "operation", "edit", "path", path, "pattern", "secret", "replacement", "gone"),
			} {
				// A name that only Windows reads as a way out is a plain name elsewhere.
				if a := call(t, s, "filesystemModify", q); !a.IsError && name != "windows parent" {
					t.Errorf("%s gives %s", q, a.text())
				}
			}
		})
	}
	for _, path := range []string{"../secret.txt", secret, "outdir/secret.txt", "."} {
		if a := call(t, s, "filesystemModify", object(t, "operation", "delete", "path", path, "confirm", true, "recursive", true)); !a.IsError {
			t.Errorf("delete %s gives %s", path, a.text())
		}
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "the secret\n" {
		t.Fatalf("the secret is now %q, %v", got, err)
	}
	// Searching below the root does not follow links out of it either.
	a := call(t, s, "filesystemQuery", `{"operation":"search","pattern":"the secret"}`)
	if got, _ := paths(t, a.StructuredContent); got != nil {
		t.Errorf("search found %v through a link", got)
	}
}

func TestModify(t *testing.T) {
	root, _ := tree(t)
	s := utils(t, UtilsOptions{Roots: []string{root}, MaxBytes: 100})
	for _, tc := range []struct {
		name, args string
		says       string // part of the error; "" = succeeds
		file, want string
	}{
		{"write new", `{"operation":"write","path":"new/dir/f.txt","content":"x"}`, "", "new/dir/f.txt", "x"},
		{"write over", `{"operation":"write","path":"a.txt","content":"one one"}`, "", "a.txt", "one one"},
		{"write nothing", `{"operation":"write","path":"empty","content":""}`, "", "empty", ""},
		{"append", `{"operation":"append","path":"a.txt","content":"!"}`, "", "a.txt", "one one!"},
		{"append creates", `{"operation":"append","path":"log","content":"l"}`, "", "log", "l"},
		{"edit", `{"operation":"edit","path":"a.txt","pattern":"one","replacement":"1","maxReplacements":1}`, "", "a.txt", "1 one!"},
		{"edit regex", `{"operation":"edit","path":"a.txt","pattern":"(o)ne","replacement":"${1}1","regex":true}`, "", "a.txt", "1 o1!"},
		{"edit literal dollar", `{"operation":"edit","path":"a.txt","pattern":"o1","replacement":"$1"}`, "", "a.txt", "1 $1!"},
		{"edit without match", `{"operation":"edit","path":"a.txt","pattern":"zzz","replacement":"y"}`, "nothing changed", "a.txt", "1 $1!"},
		{"edit match not required", `{"operation":"edit","path":"a.txt","pattern":"zzz","replacement":"y","requireMatch":false}`, "", "a.txt", "1 $1!"},
		{"edit grows too large", `{"operation":"edit","path":"a.txt","pattern":"","replacement":"y"}`, "needs pattern", "a.txt", "1 $1!"},
		{"edit explodes", object(t, "operation", "edit", "path", "a.txt", "pattern", "1", "replacement", strings.Repeat("y", 90)), "would exceed", "a.txt", "1 $1!"},
		{"edit bad pattern", `{"operation":"edit","path":"a.txt","pattern":"(","replacement":"y","regex":true}`, "pattern", "a.txt", "1 $1!"},
		{"no content", `{"operation":"write","path":"a.txt"}`, "needs content", "a.txt", "1 $1!"},
		{"too large", object(t, "operation", "write", "path", "a.txt", "content", strings.Repeat("y", 101)), "at most", "a.txt", "1 $1!"},
		{"no parent", `{"operation":"write","path":"none/f","content":"x","createMissingDirs":false}`, "does not exist", "a.txt", "1 $1!"},
		{"write to a folder", `{"operation":"write","path":"notes","content":"x"}`, "is a folder", "a.txt", "1 $1!"},
		{"write to the root", `{"operation":"write","path":".","content":"x"}`, "allowed folder itself", "a.txt", "1 $1!"},
		{"delete unconfirmed", `{"operation":"delete","path":"a.txt"}`, "confirm", "a.txt", "1 $1!"},
		{"delete full folder", `{"operation":"delete","path":"notes","confirm":true}`, "not empty", "notes/b.md", "# Title\nTwo words\n"},
		{"no operation", `{"path":"a.txt"}`, "operation is missing", "a.txt", "1 $1!"},
		{"no path", `{"operation":"write","content":"x"}`, "path is missing", "a.txt", "1 $1!"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := call(t, s, "filesystemModify", tc.args)
			if a.IsError != (tc.says != "") || !strings.Contains(a.text(), tc.says) {
				t.Fatalf("isError %v: %s", a.IsError, a.text())
			}
			got, err := os.ReadFile(filepath.Join(root, tc.file))
			if err != nil || string(got) != tc.want {
				t.Errorf("%s holds %q (%v), want %q", tc.file, got, err, tc.want)
			}
		})
	}
	for _, args := range []string{`{"operation":"delete","path":"a.txt","confirm":true}`, `{"operation":"delete","path":"notes","confirm":true,"recursive":true}`} {
		if a := call(t, s, "filesystemModify", args); a.IsError {
			t.Error(a.text())
		}
	}
	left, err := filepath.Glob(filepath.Join(root, ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v %v", left, err)
	}
}

func TestRoots(t *testing.T) {
	root, _ := tree(t)
	other := t.TempDir()
	write(t, filepath.Join(other, "only-here.txt"), "second root")
	for _, tc := range []struct {
		name, tool, args, want string
		options                UtilsOptions
		fails                  bool
	}{
		{"none", "filesystemQuery", `{"path":"a.txt"}`, "names no roots", UtilsOptions{}, true},
		{"second", "filesystemQuery", `{"path":"only-here.txt"}`, "second root", UtilsOptions{Roots: []string{root, other}}, false},
		{"inner", "filesystemQuery", object(t, "path", filepath.Join(root, "notes", "b.md")), "Title", UtilsOptions{Roots: []string{root, filepath.Join(root, "notes")}}, false},
		{"init", "init", `{}`, `"readwrite":true`, UtilsOptions{Roots: []string{root}}, false},
		{"init read only", "init", `{}`, `"readwrite":false`, UtilsOptions{Roots: []string{root}, ReadOnly: true}, false},
		{"init folder", "init", `{"root":"notes","readwrite":true}`, "notes", UtilsOptions{Roots: []string{root}}, false},
		{"init cannot widen", "init", object(t, "root", other), "outside", UtilsOptions{Roots: []string{root}}, true},
		{"init cannot write", "init", `{"root":"notes","readwrite":true}`, "only be read", UtilsOptions{Roots: []string{root}, ReadOnly: true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := call(t, utils(t, tc.options), tc.tool, tc.args)
			if a.IsError != tc.fails || !strings.Contains(a.text(), tc.want) {
				t.Errorf("isError %v, got %s, want %s", a.IsError, a.text(), tc.want)
			}
		})
	}
	var out struct{ Tools []listed }
	ask(t, utils(t, UtilsOptions{Roots: []string{root}, ReadOnly: true}), "tools/list", map[string]any{}, &out)
	for _, tool := range out.Tools {
		if tool.Name == "filesystemModify" {
			t.Error("filesystemModify is offered though nothing may be written")
		}
	}
	if _, err := Utils(UtilsOptions{Roots: []string{filepath.Join(root, "absent")}}); err == nil {
		t.Error("an absent root is taken")
	}
	if _, err := Utils(UtilsOptions{Roots: []string{filepath.Join(root, "a.txt")}}); err == nil {
		t.Error("a file is taken as a root")
	}
}

func TestCurrentTime(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	s := utils(t, UtilsOptions{Now: now})
	for _, tc := range []struct{ name, args, want string }{
		{"utc", `{}`, `{"time":"2026-03-01T12:00:00Z","timezone":"UTC","weekday":"Sunday","unix":1772366400}`},
		{"zone", `{"timezone":"Asia/Tokyo"}`, `{"time":"2026-03-01T21:00:00+09:00","timezone":"Asia/Tokyo","weekday":"Sunday","unix":1772366400}`},
		{"unknown", `{"timezone":"Mars/Base"}`, `timezone "Mars/Base" is unknown: use an IANA name such as Europe/Lisbon`},
		{"path", `{"timezone":"../../etc/passwd"}`, `timezone "../../etc/passwd" is unknown: use an IANA name such as Europe/Lisbon`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := call(t, s, "get_current_time", tc.args).text(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
