package config

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/secret"
)

const secretFile = `
mcpServers:
  cmd:
    command: run
    args:
      - --api-token
      - S3CRET-arg-after
      - --auth-key=S3CRET-arg-in
      - API_SECRET=S3CRET-name
      - "Authorization: Bearer S3CRET-header-arg"
      - https://S3CRET-user:S3CRET-pa%2Fss@h.example/?q=S3CRET-query&r=S3CRET%20two#frag
      - '{"apiKey": "S3CRET-json", "other": "plain-json"}'
      - "serve --password S3CRET-inside --port 80"
      - "${FROM_ENV}"
      - plain-arg
    env:
      A: S3CRET-env
      DSN: postgres://u:S3CRET-dsn@h/db
      PEM: "-----BEGIN-----\nS3CRET-line-one\nS3CRET-line-two\n"
    cwd: /w/${DIR_VAR}
    description: says nothing
  web:
    url: https://S3CRET-url-user:S3CRET-url-pass@h.example/mcp?key=S3CRET-url-query&S3CRET-bare
    headers:
      Authorization: Basic dXNlcjpTM0NSRVQtYmFzaWM=
      X-Other: S3CRET-x-header
cacheDir: /c/${CACHE_VAR}
`

var secretEnv = environment("FROM_ENV=S3CRET-from-env\nDIR_VAR=S3CRET-dir\nCACHE_VAR=S3CRET-cache\n")

func TestSecretsAppearNowhere(t *testing.T) {
	c, err := Parse("s.yaml", []byte(secretFile), secretEnv)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := c.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{"resolved": string(resolved)}
	for _, s := range c.Servers {
		shown["describe "+s.Name] = s.Describe
	}
	r := c.Redactor()
	values := []string{
		"S3CRET-arg-after", "S3CRET-arg-in", "S3CRET-name", "S3CRET-header-arg", "S3CRET-user", "S3CRET-pa/ss", "S3CRET-query", "S3CRET two",
		"S3CRET-json", "S3CRET-inside", "S3CRET-from-env", "S3CRET-env", "S3CRET-dsn", "S3CRET-line-one", "S3CRET-line-two", "S3CRET-dir",
		"S3CRET-url-user", "S3CRET-url-pass", "S3CRET-url-query", "S3CRET-bare", "S3CRET-basic", "S3CRET-x-header", "S3CRET-cache",
	}
	for _, v := range values {
		j, _ := json.Marshal(v)
		for name, text := range map[string]string{
			"plain": v, "query": url.QueryEscape(v), "path": url.PathEscape(v), "json": string(j),
			"slashes": strings.ReplaceAll(v, "/", `\/`),
			"base64":  base64.StdEncoding.EncodeToString([]byte(v)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(v)),
			"basic": base64.StdEncoding.EncodeToString([]byte("me:" + v)), "basic1": base64.StdEncoding.EncodeToString([]byte("mee:" + v)),
			"basic2": base64.StdEncoding.EncodeToString([]byte("meee:" + v + ":x")),
		} {
			got := r.Redact("before " + text + " after")
			if strings.Contains(got, text) || strings.Contains(got, "S3CRET") || !strings.Contains(got, secret.Hidden) {
				t.Errorf("Redact of %s as %s = %q", v, name, got)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("Redact of %s as %s = %q, changed the text around", v, name, got)
			}
			if got := r.RedactStderr("x" + text); strings.Contains(got, text) {
				t.Errorf("RedactStderr of %s as %s = %q", v, name, got)
			}
		}
	}
	for where, text := range shown {
		if strings.Contains(text, "S3CRET") {
			t.Errorf("%s shows a secret:\n%s", where, text)
		}
		for _, plain := range []string{"plain-arg", "plain-json"} {
			if strings.Contains(where, "cmd") && !strings.Contains(text, plain) {
				t.Errorf("%s does not show %s:\n%s", where, plain, text)
			}
		}
	}
}

func TestRedactorOfFaultyFile(t *testing.T) {
	r := RedactorOf("c.yaml", []byte("mcpServers: {a: {comand: x, env: {K: S3CRET-faulty}}}\nunknown: 1"), environment(""))
	if got := r.Redact("has S3CRET-faulty"); got != "has ***" {
		t.Errorf("got %q", got)
	}
	if got := RedactorOf("c.json", []byte("{"), environment("")).Redact("text"); got != "text" {
		t.Errorf("got %q", got)
	}
}
