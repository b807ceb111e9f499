package config

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
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
			if strings.Contains(got, text) || strings.Contains(got, "S3CRET") || !strings.Contains(got, hidden) {
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

func TestArgumentSpans(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"value after a flag", []string{"--token", "abc"}, "--token ***"},
		{"value in a flag", []string{"--token=abc", "x"}, "--token=*** x"},
		{"one dash", []string{"-password", "abc"}, "-password ***"},
		{"upper case", []string{"--API-KEY", "abc"}, "--API-KEY ***"},
		{"a flag after a flag", []string{"--auth", "--port", "80"}, "--auth --port 80"},
		{"a value with a dash", []string{"--secret", "-abc"}, "--secret ***"},
		{"a short flag is not like key", []string{"-k", "abc"}, "-k abc"},
		{"a header", []string{"--header", "Authorization: Bearer abc def"}, "--header Authorization: ***"},
		{"docker's env", []string{"-e", "GITHUB_TOKEN=abc", "image"}, "-e GITHUB_TOKEN=*** image"},
		{"an image's tag is none", []string{"keycloak/keycloak:latest"}, "keycloak/keycloak:latest"},
		{"a url", []string{"https://u:p@h/p?a=1&b=2#f"}, "https://***@h/p?a=***&b=***#f"},
		{"a url without secrets", []string{"https://h/p#f"}, "https://h/p#f"},
		{"a scoped package", []string{"@auth/server@1.0"}, "@auth/server@1.0"},
		{"one line for a shell", []string{"-c", "x --token 'a b' --port 1"}, "-c x --token '***' --port 1"},
		{"short values too", []string{"--pass=a"}, "--pass=***"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for i, spans := range argumentSpans(tt.args) {
				got = append(got, mask(tt.args[i], spans))
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
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

func TestRedact(t *testing.T) {
	r := NewRedactor("abcdef", "defghi", "four", "abc", "true", "longer four", "***")
	for _, tt := range []struct{ name, text, all, stderr string }{
		{"plain", "x abcdef y", "x *** y", "x *** y"},
		{"overlapping", "abcdefghi", "***", "***"},
		{"side by side", "abcdefabcdef", "******", "******"},
		{"longest first", "a longer four b", "a *** b", "a *** b"},
		{"four bytes", "a four b", "a *** b", "a four b"},
		{"too short", "abc abcd", "abc abcd", "abc abcd"},
		{"a plain word", "is true", "is true", "is true"},
		{"nothing", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.Redact(tt.text); got != tt.all {
				t.Errorf("Redact = %q, want %q", got, tt.all)
			}
			if got := r.RedactStderr(tt.text); got != tt.stderr {
				t.Errorf("RedactStderr = %q, want %q", got, tt.stderr)
			}
		})
	}
	var none *Redactor
	if got := none.Redact("x"); got != "x" {
		t.Errorf("nil Redactor changed %q", got)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("secret", "a secret in text")
	f.Add("äö\"/\\+ %", "äö")
	f.Fuzz(func(t *testing.T, secret, text string) {
		if len(secret)+len(text) > 1<<12 {
			return
		}
		r := NewRedactor(secret)
		if got := r.Redact(text + secret + text); len(secret) >= minSecret && !plainWords[strings.ToLower(secret)] &&
			strings.Trim(secret, "*") != "" && !strings.Contains(hidden+text+hidden+text+hidden, secret) && strings.Contains(got, secret) {
			t.Errorf("Redact(%q) with secret %q = %q", text+secret+text, secret, got)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	var values []string
	for i := range 600 {
		values = append(values, strings.Repeat(string(rune('a'+i%26)), 8+i%20)+url.QueryEscape(string(rune(i*7))))
	}
	r := NewRedactor(values...)
	text := strings.Repeat("connection=files tool=read_file outcome=ok ms=12 ", 20)
	for b.Loop() {
		r.Redact(text)
	}
	b.SetBytes(int64(len(text)))
}
