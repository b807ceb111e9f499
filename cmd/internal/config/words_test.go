package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/secret"
)

// words reads mini-a's words and writes what comes of them.
func wordsOutcome(t *testing.T, words ...string) string {
	t.Helper()
	c, err := FromWords(words, environment("TOKEN=tok-value"))
	if err != nil {
		return err.Error()
	}
	out := string(printed(t, c))
	if len(c.Ignored) > 0 {
		out += strings.Join(c.Ignored, "\n") + "\n"
	}
	wd, _ := os.Getwd()
	return strings.ReplaceAll(out, wd, "$WORK")
}

var wordCases = []struct {
	name  string
	words []string
	want  string
}{
	{"a command in SLON", []string{"mcp=(cmd: 'ojob mcps/mcp-time.yaml')", "mcpproxy=true"}, `mcpServers:
  mcp-time:
    command: ojob
    args: [mcps/mcp-time.yaml]
`},
	{"a list", []string{`mcp=[(cmd: 'ojob mcp-db.yaml jdbc=jdbc:h2:./data'), (type: remote, url: 'https://host.example:8/mcp', timeout: 5000)]`}, `mcpServers:
  mcp-db:
    command: ojob
    args: [mcp-db.yaml, 'jdbc=jdbc:h2:./data']
  host.example:
    url: https://host.example:8/mcp
    timeout: 5s
`},
	{"a list with bars", []string{`mcp=[(cmd: a) | (cmd: a)]`}, `mcpServers:
  a:
    command: a
  a-2:
    command: a
`},
	{"JSON", []string{`mcp=[{"cmd": "npx -y \"@scope/server-x@1.2\" 'two words' ${TOKEN}", "env": {"A": "b"}}, {"name": "n", "command": "c", "args": ["d"]}]`}, `mcpServers:
  server-x:
    command: npx
    args: [-y, '@scope/server-x@1.2', two words, tok-value]
    env:
      A: b
  n:
    command: c
    args: [d]
`},
	{"several words", []string{"mcp=(cmd: a)", "mcp=(cmd: b)", "useutils=true", "mcplazy=true", "mcpproxythreshold=51200", "mcpproxyallow=a, b*", "mcpproxydeny=c", "usetools=true", "mcpproxytoon=false", "toolcachettl=0"}, `mcpServers:
  a:
    command: a
    lazy: true
  b:
    command: b
    lazy: true
  utils:
    builtin: utils
    lazy: true
spill:
  threshold: 51200
allowedRoots: [$WORK]
tools:
  allow: [a, b*]
  deny: [c]
`},
	{"as TOON", []string{"mcpproxytoon=true"}, "mcpServers: {}\nspill:\n  format: toon\n"},
	{"never spilled", []string{"mcpproxythreshold=0"}, "mcpServers: {}\nspill:\n  threshold: 0\n"},
	{"authentication", []string{"mcp=(url: http://h/, auth: (type: bearer, token: abc), options: (x: 1))"}, `mcpServers:
  h:
    url: http://h/
    headers:
      Authorization: Bearer abc
mcp=: options: ignored, it has no meaning here
`},
	{"a cache", []string{"toolcachettl=60000"}, "mcpServers: {}\nhooks:\n  pre_call:\n    builtin: cache\n    ttl: 1m0s\n"},
	{"no cache", []string{"toolcachettl=0"}, "mcpServers: {}\n"},
	{"without the proxy", []string{"mcpproxy=false"}, "mcpServers: {}\nexpose: [transparent]\n"},
	{"a login", []string{"mcp=(url: http://h/, auth: (type: oauth2))"}, "mcpServers:\n  h:\n    url: http://h/\n"},
	{"wrong authentication", []string{"mcp=(url: http://h/, auth: (type: magic))", "toolcachettl=soon"},
		"mcp=: auth must be (type: bearer, token: …) or (type: oauth2)\ntoolcachettl=: must be a number of milliseconds, not \"soon\""},
	{"unknown words", []string{"mcplasy=true", "word"}, "mcplasy=: unknown word \"mcplasy\"; did you mean \"mcplazy\"?\n\"word\" is no NAME=VALUE"},
	{"wrong values", []string{"mcp=(cmd: 'a", "mcp={\"cmd\":", "mcp=x", "mcp=(cmd: 'a \"b')", "mcp=()", "useutils=yes", "mcpproxythreshold=big", "mcp=(cmd: '')", "mcp=(cmd: a, url: http://h/)", "mcp=(comand: a)"},
		"mcp=: not valid SLON: at character 7: the quote is never closed\n" +
			"mcp=: not valid JSON: parsing value: unexpected EOF (column 8)\n" +
			"mcp=: entry 1 must be a mapping like (cmd: '…'), not text\n" +
			"mcp=: cmd: a quote is never closed\n" +
			"mcp=: server \"mcp-2\" is empty: it needs command, url or builtin\n" +
			"useutils=: must be true or false, not \"yes\"\n" +
			"mcpproxythreshold=: must be a number of bytes, not \"big\"\n" +
			"mcp=: command is empty\n" +
			"mcp=: server \"h\" has more than one of command, url and builtin\n" +
			"mcp=: unknown key \"comand\"; did you mean \"command\"?\n" +
			"mcp=: server \"mcp-4\" is empty: it needs command, url or builtin"},
}

func TestFromWords(t *testing.T) {
	for _, tt := range wordCases {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, wordsOutcome(t, tt.words...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	base, err := Parse("c.yaml", []byte("mcpServers: {a: {command: x}}\nspill: {threshold: 1}\ntools: {deny: [d]}"), environment(""))
	if err != nil {
		t.Fatal(err)
	}
	extra, err := FromWords([]string{"mcp=(cmd: b, env: (K: merged-secret))", "mcpproxythreshold=2", "mcpproxydeny=e"}, environment(""))
	if err != nil {
		t.Fatal(err)
	}
	if err := base.Merge(extra); err != nil {
		t.Fatal(err)
	}
	want := "mcpServers:\n  a:\n    command: x\n  b:\n    command: b\n    env:\n      K: merged-secret\nspill:\n  threshold: 2\ntools:\n  deny: [d, e]\n"
	if diff := cmp.Diff(want, string(printed(t, base))); diff != "" {
		t.Error(diff)
	}
	if got := base.Redactor().Redact("merged-secret"); got != secret.Hidden {
		t.Errorf("merged secret shows as %q", got)
	}
	if err := base.Merge(extra); err == nil {
		t.Error("a server of the same name was taken")
	}
}
