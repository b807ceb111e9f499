package secret

import (
	"net/url"
	"strings"
	"testing"
)

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
			strings.Trim(secret, "*") != "" && !strings.Contains(Hidden+text+Hidden+text+Hidden, secret) && strings.Contains(got, secret) {
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
