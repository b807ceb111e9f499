package config

import (
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// ignoredKeys are keys of a server's entry that clients write and that have no meaning for us.
var ignoredKeys = []string{
	"alwaysAllow", "autoApprove", "auth", "bearerToken", "dev", "disabledPrompts", "env_vars", "envFile", "gallery", "headersHelper",
	"icon", "iconPath", "id", "instructions", "metadata", "name", "note", "required", "sandbox", "sandboxEnabled", "scopes",
	"shared", "startup_timeout_ms", "title", "trust", "version",
}

// clientKeys maps the keys of clients that we know by another name, and names those we ignore.
func (f *fields) clientKeys(s *Server) {
	if _, n := f.take("enabled"); n != nil && !f.bool("enabled") {
		s.Disabled = true
	}
	if t := f.seconds("tool_timeout_sec"); t > 0 && s.Timeout == 0 {
		s.Timeout = t
	}
	s.StartTimeout = f.seconds("startup_timeout_sec")
	f.headersFromEnv(s)
	known := len(f.known)
	for _, key := range ignoredKeys {
		if _, n := f.take(key); n != nil {
			f.ignore(n.Line, f.where+key, "it has no meaning here")
		}
	}
	// What is merely tolerated is not offered as the right spelling of something else.
	f.tolerated, f.known = append(f.tolerated, f.known[known:]...), f.known[:known]
}

// headersFromEnv reads the two spellings by which one client takes headers from the environment.
func (f *fields) headersFromEnv(s *Server) {
	add := func(header, variable string, line int, prefix string) {
		if s.Headers == nil {
			s.Headers = map[string]string{}
		}
		s.Headers[header] = prefix + f.expanded(&notation.Node{Kind: notation.Text, Text: "${" + variable + "}", Line: line})
	}
	if _, n := f.take("bearer_token_env_var"); n != nil {
		add("Authorization", f.text("bearer_token_env_var"), n.Line, "Bearer ")
	}
	_, n := f.take("env_http_headers")
	for _, m := range f.mapping(n, f.where+"env_http_headers.").members() {
		if isHeaderName(m.Key) {
			add(m.Key, f.scalar(m.Value, f.where+"env_http_headers."+m.Key), m.Line, "")
		}
	}
}

func (f *fields) seconds(key string) time.Duration {
	_, n := f.take(key)
	if n == nil {
		return 0
	}
	// Read as milliseconds, because that is what a plain number is elsewhere.
	d, ok := parseDuration(f.scalar(n, f.where+key))
	if !ok || d <= 0 || d > maxDuration/1000 {
		f.add(n.Line, "%s%s must be a number of seconds", f.where, key)
		return 0
	}
	return d * 1000
}
