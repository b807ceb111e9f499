package tests

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// example is one fenced block of a document.
type example struct {
	line       int
	lang, mark string
	body       string
}

func (e example) name() string { return e.mark + " at line " + strconv.Itoa(e.line) }

// examples are the fenced blocks of a document, in order.
func examples(text string) (list []example) {
	var now *example
	n := 0
	for line := range strings.Lines(text) {
		n++
		fence, isFence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case isFence && now == nil:
			lang, mark, _ := strings.Cut(fence, " ")
			now = &example{line: n, lang: lang, mark: mark}
		case isFence:
			list = append(list, *now)
			now = nil
		case now != nil:
			now.body += line
		}
	}
	return list
}

func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	root := os.DirFS("..")
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			body, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			docs[name] = string(body)
		}
	}
	return docs
}

// TestDocuments runs every example of every document as it stands.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for doc, text := range documents(t) {
		if doc == "docs/design.md" {
			continue // drawings, no examples
		}
		list := examples(text)
		if len(list) == 0 {
			continue
		}
		t.Run(doc, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, config("", server{"orders", `{"builtin":"dataset"}`}))
			h.env = append(h.env, "PATH="+filepath.Dir(binary(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
			for _, e := range list {
				t.Run(e.name(), func(t *testing.T) { runExample(t, h, e) })
			}
		})
	}
}

func runExample(t *testing.T, h *home, e example) {
	t.Helper()
	switch e.mark {
	case "config":
		if err := os.WriteFile(h.file, []byte(e.body), 0o600); err != nil {
			t.Fatal(err)
		}
		understood(t, h, h.file)
	case "foreign":
		file := filepath.Join(h.dir, "foreign.json")
		if err := os.WriteFile(file, []byte(e.body), 0o600); err != nil {
			t.Fatal(err)
		}
		understood(t, h, file)
	case "calls":
		conversation(t, h, "dispatch", e.body)
	case "calls proxy":
		conversation(t, h, "proxy", e.body)
	case "":
		if e.lang == "console" {
			console(t, h, e.body)
			return
		}
		t.Errorf("a block of %q has no mark: say config, calls, file, foreign or shown", e.lang)
	case "shown":
	default:
		if place, ok := strings.CutPrefix(e.mark, "calls view:"); ok {
			view, tool, _ := strings.Cut(place, " ")
			conversationWith(t, h, "view:"+view, tool, e.body)
			return
		}
		if name, ok := strings.CutPrefix(e.mark, "file "); ok {
			writeFile(t, filepath.Join(h.dir, filepath.FromSlash(name)), e.body)
			return
		}
		if name, ok := strings.CutPrefix(e.mark, "example "); ok {
			goExample(t, name, e.body)
			return
		}
		t.Errorf("unknown mark %q", e.mark)
	}
}

// understood reads a configuration without starting its servers: not all of them are on this machine.
func understood(t *testing.T, h *home, file string) {
	t.Helper()
	out, err := h.command(t, "config", "--resolved", "--config", file).CombinedOutput()
	if err != nil {
		t.Errorf("config --resolved: %v\n%s", err, out)
	}
}

// conversation sends every line of a text to the tool of a face; none may fail.
func conversation(t *testing.T, h *home, face, requests string) {
	t.Helper()
	conversationWith(t, h, face, map[string]string{"dispatch": "proxy-dispatch", "proxy": "proxy"}[face], requests)
}

func writeFile(t *testing.T, name, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

func conversationWith(t *testing.T, h *home, face, tool, requests string) {
	t.Helper()
	s := h.serve(t, "--expose", face)
	var out bytes.Buffer
	if err := play(s.ctx, s.Agent, tool, requests, &out); err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(out.String(), "\n> ") {
		if strings.Contains(part, "\n[error] ") {
			t.Errorf("an example fails:\n%s", clip(part, 1500))
		}
	}
	if strings.Contains(requests, "HANDLE") && !handleIn.MatchString(out.String()) {
		t.Errorf("no report gave a handle:\n%s", clip(out.String(), 1500))
	}
}

// goExample holds a block against the example of that name in the Go client, which its own tests run: the block is a part
// of its body.
func goExample(t *testing.T, name, body string) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "client", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(source), "\nfunc "+name+"() {\n")
	function, _, _ := strings.Cut(rest, "\n}\n")
	plain := func(s string) string {
		var b strings.Builder
		for line := range strings.Lines(s) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
		return b.String()
	}
	if !found || !strings.Contains(plain(function), strings.TrimSpace(plain(body))) {
		t.Errorf("the block is not a part of %s in client/example_test.go", name)
	}
}

// changing is what differs from run to run: numbers and handles, and the white space of a table made for them.
var changing = regexp.MustCompile(`\br\d+[a-z]{2}\b|\d+| +`)

// console runs the commands after `$` and looks for each line shown below them, in order; what changes may differ.
func console(t *testing.T, h *home, text string) {
	t.Helper()
	for part := range strings.SplitSeq("\n"+text, "\n$ ") {
		command, want, _ := strings.Cut(part, "\n")
		if strings.TrimSpace(command) == "" {
			continue
		}
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = h.dir, h.env
		if strings.HasPrefix(command, "make ") {
			// The tree is not a person's fresh clone: play the target's own program instead of building again.
			cmd.Args[2] = "proxy-dispatch " + strings.TrimPrefix(command, "make ")
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("$ %s: %v\n%s", command, err, clip(string(out), 1500))
			continue
		}
		rest := changing.ReplaceAllString(string(out), "0")
		for line := range strings.Lines(want) {
			line = changing.ReplaceAllString(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "…")), "0")
			i := strings.Index(rest, line)
			if i < 0 {
				t.Errorf("$ %s does not print %q (or not in this order):\n%s", command, line, clip(string(out), 2000))
				break
			}
			rest = rest[i+len(line):]
		}
	}
}

// TestLinks follows the links between documents.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	code := regexp.MustCompile("`[^`\n]+`")
	for doc, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if _, err := os.Stat(filepath.Join("..", filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			}
		}
	}
}

// TestPromises: each test that docs/security.md names is there.
func TestPromises(t *testing.T) {
	body, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z]+)`").FindAllStringSubmatch(string(body), -1)
	if len(names) < 20 {
		t.Fatalf("only %d tests are named", len(names))
	}
	var all bytes.Buffer
	walk(t, func(name string, body []byte) {
		if strings.HasSuffix(name, "_test.go") {
			all.Write(body)
		}
	})
	for _, n := range names {
		if !bytes.Contains(all.Bytes(), []byte("func "+n[1]+"(")) {
			t.Errorf("there is no %s", n[1])
		}
	}
}
