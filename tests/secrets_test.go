package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// secrets are one value for every place where one may stand; none may come out anywhere.
var secrets = map[string]string{
	"env value":        "sec-env-7f3a91",
	"header value":     "sec-header-b82c",
	"userinfo":         "sec-userinfo-11ce",
	"query value":      "sec-query-90ab",
	"expanded":         "sec-expanded-cc41",
	"after a flag":     "sec-afterflag-5d",
	"in a flag":        "sec-inflag-e6077",
	"short flag style": "sec-authword-3b1",
}

func secretConfig() string {
	self, _ := os.Executable()
	return config(`"log":{"level":"debug"}`,
		server{"chatty", fmt.Sprintf(`{"command":%q,"args":["--stderr","secrets"],"env":{"PROXY_DISPATCH_FIXTURE":"fixture-on","API_VALUE":%q,"EXPANDED":"${SECRET_OF_TESTS}"}}`, self, secrets["env value"])},
		server{"dying", fmt.Sprintf(`{"command":%q,"args":["--token",%q,"--api-key=%s","--auth-header",%q],"env":{"PROXY_DISPATCH_FIXTURE":"fixture-on","API_VALUE":%q}}`,
			self, secrets["after a flag"], secrets["in a flag"], secrets["short flag style"], secrets["env value"])},
		server{"absent", fmt.Sprintf(`{"command":"no-such-program","args":["run","${SECRET_OF_TESTS}","--password",%q],"env":{"X":%q}}`, secrets["after a flag"], secrets["env value"])},
		server{"remote", fmt.Sprintf(`{"url":"http://someone:%s@127.0.0.1:1/mcp?key=%s","headers":{"Authorization":"Bearer %s"}}`, secrets["userinfo"], secrets["query value"], secrets["header value"])},
	)
}

func leaks(t *testing.T, where, text string) {
	t.Helper()
	for kind, value := range secrets {
		if i := strings.Index(text, value); i >= 0 {
			t.Errorf("%s shows the secret of kind %q: …%s…", where, kind, text[max(0, i-60):min(len(text), i+len(value)+20)])
		}
	}
}

func secretHome(t *testing.T) *home {
	h := newHome(t, secretConfig())
	h.env = append(h.env, "SECRET_OF_TESTS="+secrets["expanded"])
	return h
}

func TestSecretsInAnswers(t *testing.T) {
	t.Parallel()
	s := secretHome(t).serve(t)
	var all strings.Builder
	for _, request := range []string{
		`{"action":"list","refresh":true}`, `{"action":"list","format":"json"}`, `{"action":"list","format":"detail"}`,
		`{"action":"search","query":"echo"}`, `{"action":"search","query":"echo","format":"json"}`,
		`{"action":"status"}`, `{"action":"status","format":"json"}`, `{"action":"help"}`,
		`{"action":"describe","connection":"dying"}`, `{"action":"describe","connection":"remote","format":"json"}`,
		`{"action":"call","tool":"dying/echo","arguments":{"message":"x"}}`,
		`{"action":"call","tool":"absent/echo","arguments":{"message":"x"},"format":"json"}`,
		`{"action":"call","tool":"remote/echo","arguments":{"message":"x"}}`,
		`{"action":"batch","calls":[{"tool":"remote/echo","arguments":{}},{"tool":"dying/echo","arguments":{}}]}`,
	} {
		a := s.do(request)
		leaks(t, request, string(a.raw))
		all.Write(a.raw)
	}
	if !strings.Contains(all.String(), "***") {
		t.Log("no *** anywhere: the errors name no command")
	}
	if got := s.tool("chatty/environ", `{"name":"API_VALUE"}`, "").ok().text(); got != secrets["env value"] {
		t.Errorf("a tool's result was altered: %q", got)
	}
	_ = s.Close()
	leaks(t, "stderr", s.Stderr())
	if !strings.Contains(s.Stderr(), "environment") {
		t.Errorf("the server's stderr is not in the log:\n%s", clip(s.Stderr(), 1500))
	}
}

func TestSecretsInCommands(t *testing.T) {
	t.Parallel()
	h := secretHome(t)
	for _, args := range [][]string{
		{"servers"}, {"servers", "--json"}, {"tools"}, {"tools", "--json"}, {"search", "echo"}, {"status"}, {"status", "--json"},
		{"validate"}, {"config", "--resolved"}, {"config", "--resolved", "--json"}, {"schema", "echo"},
		{"call", "dying/echo", "message=x"}, {"call", "absent/echo", "{}"}, {"call", "remote/echo", "{}"},
		{"init", "claude-code"}, {"init", "config"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			out, err := h.command(t, append(args, "--config", h.file)...).CombinedOutput()
			if _, usage := err.(*exec.ExitError); err != nil && !usage {
				t.Fatal(err)
			}
			leaks(t, strings.Join(args, " "), string(out))
		})
	}
	for _, f := range left(filepath.Join(h.dir, "cache")) {
		body, _ := os.ReadFile(f)
		leaks(t, filepath.Base(f), string(body))
	}
}

func TestSecretsInBrokenConfiguration(t *testing.T) {
	t.Parallel()
	for name, conf := range map[string]string{
		"unknown key": config("", server{"x", fmt.Sprintf(`{"command":"a","envv":{"K":%q}}`, secrets["env value"])}),
		"wrong type":  config("", server{"x", fmt.Sprintf(`{"command":"a","env":[%q]}`, secrets["env value"])}),
		"not closed":  fmt.Sprintf(`{"mcpServers":{"x":{"env":{"K":%q}`, secrets["env value"]),
		"bad address": config("", server{"x", fmt.Sprintf(`{"url":"http://u:%s@[::1"}`, secrets["userinfo"])}),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, conf)
			for _, command := range []string{"validate", "serve", "servers"} {
				out, _ := h.command(t, command, "--config", h.file).CombinedOutput()
				leaks(t, command, string(out))
			}
		})
	}
}
