package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// transports maps the spellings of our file and of the clients' files; remote and its like leave
// the choice between http and sse to the first contact.
var transports = map[string]string{
	"stdio": "stdio", "local": "stdio", "command": "stdio",
	"http": "http", "streamable-http": "http", "streamable_http": "http", "streamableHttp": "http", "streamablehttp": "http",
	"sse": "sse", "remote": "", "url": "",
}

// Transport returns what a client's or our spelling of a transport means: stdio, http, sse, or "" where
// it leaves the choice to the first contact or means nothing.
func Transport(spelling string) string { return transports[spelling] }

// server decodes one entry. What is wrong with it is a problem of the file, except a variable that
// is not set: that leaves the server in place with Unset saying so.
func (d *decoder) server(name, where string, m notation.Member) Server {
	var unset []string
	d.unset = &unset
	defer func() { d.unset = nil }()
	s := Server{Name: name, File: d.file, Line: m.Line}
	f := d.mapping(m.Value, where)
	if f.node == nil || f.node.Kind == notation.Null {
		if m.Value.Kind == notation.Null {
			d.add(m.Line, "server %q is empty: it needs command, url or builtin", name)
		}
		return s
	}
	s.Command, s.Builtin = f.text("command"), f.enum("builtin", "utils", "dataset")
	s.URL = f.text("url", "serverUrl", "httpUrl")
	s.Args, s.Env = f.texts("args"), f.environment()
	s.Headers = f.headers()
	s.Dir = f.path("cwd")
	s.Transport = f.transport()
	s.Protocol = f.enum("protocol", "auto", "legacy", "2026-07-28")
	s.Timeout = f.duration("timeout")
	s.Lazy, s.Disabled, s.ReadOnly = f.bool("lazy"), f.bool("disabled"), f.bool("readOnly")
	s.Description = f.literal("description")
	f.keywords(&s)
	s.Tools = f.serverTools()
	s.Prefix, s.Separator = f.given("prefix"), f.given("separator")
	d.hooks(f, Hook{level: ofServer, Servers: []string{glob.QuoteMeta(name)}})
	if n := f.node.Get("hooks"); n != nil && !n.AsksNothing() {
		s.hooks = d.kept(n)
	}
	s.OAuth, s.Claims = f.oauth(), f.claims()
	f.clientKeys(&s)
	if s.PerAgent = f.bool("perAgent"); f.enum("framing", "newline", "content-length") == "content-length" {
		s.Framing = "content-length"
	}
	f.done()
	f.way(&s)
	s.ID = s.hash()
	d.out.addSecrets(&s)
	if len(unset) > 0 {
		s.Unset = errors.New(strings.Join(unset, "; "))
	}
	s.masked = f.masked()
	if n := f.node.Get("cwd"); n != nil && !strings.Contains(n.Text, "${") {
		s.masked.dir = s.Dir
	}
	s.Describe = d.out.describe(&s)
	return s
}

// keywords reads words for all tools of a server, or words by globs of tool names.
func (f *fields) keywords(s *Server) {
	n := f.node.Get("keywords")
	if n == nil || n.Kind != notation.Mapping {
		s.Keywords = f.literals("keywords")
		return
	}
	f.take("keywords")
	words := f.mapping(n, f.where+"keywords.")
	for _, m := range n.Members {
		words.take(m.Key)
		if _, err := glob.Compile(m.Key); err != nil || m.Key == "" {
			f.add(m.Line, "%skeywords: bad pattern %q", f.where, m.Key)
			continue
		}
		s.OfTools = append(s.OfTools, ToolKeywords{m.Key, words.literals(m.Key)})
	}
	words.done()
}

// addSecrets takes every secret of a server's entry.
func (c *Config) addSecrets(s *Server) {
	for _, kv := range s.Env {
		_, value, _ := strings.Cut(kv, "=")
		c.secrets.Add(value)
	}
	for _, value := range s.Headers {
		c.secrets.Add(value)
	}
	c.secrets.Add(s.OAuth.ClientSecret)
	c.secrets.Add(s.OAuth.IdentityProvider.ClientSecret)
	c.secrets.AddText(s.URL)
	c.secrets.AddText(s.Command)
	c.secrets.AddArguments(s.Args)
}

// environment reads env, as a mapping or as a list of K=V.
func (f *fields) environment() []string {
	_, n := f.take("env")
	if n == nil {
		return nil
	}
	var out []string
	if n.Kind == notation.List {
		out = f.texts("env")
		for _, kv := range out {
			if name, _, found := strings.Cut(kv, "="); !found || name == "" {
				f.add(n.Line, "%senv: an element must be NAME=VALUE", f.where)
			}
		}
		return out
	}
	for _, m := range f.mapping(n, f.where+"env.").members() {
		if m.Key == "" || strings.ContainsAny(m.Key, "=\x00") {
			f.add(m.Line, "%senv: %q is no name of a variable", f.where, m.Key)
			continue
		}
		if m.Value.Kind == notation.Null {
			f.add(m.Line, `%senv.%s has no value (write "" for an empty one)`, f.where, m.Key)
			continue
		}
		out = append(out, m.Key+"="+f.scalar(m.Value, f.where+"env."+m.Key))
	}
	return out
}

func (f *fields) members() []notation.Member {
	if f.node == nil {
		return nil
	}
	return f.node.Members
}

func (f *fields) headers() map[string]string {
	_, n := f.take("headers", "http_headers")
	var out map[string]string
	for _, m := range f.mapping(n, f.where+"headers.").members() {
		value := f.scalar(m.Value, f.where+"headers."+m.Key)
		if !isHeaderName(m.Key) {
			f.add(m.Line, "%sheaders: %q is no name of a header", f.where, m.Key)
			continue
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			f.add(m.Line, "%sheaders.%s holds a line break", f.where, m.Key)
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[m.Key] = value
	}
	return out
}

func isHeaderName(s string) bool {
	const special = "!#$%&'*+-.^_`|~"
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune(special, r))
	})
}

func (f *fields) transport() string {
	key, n := f.take("transport", "type")
	if n == nil {
		return ""
	}
	text := f.scalar(n, f.where+key)
	t, known := transports[text]
	if !known && n.Kind != notation.Mapping && n.Kind != notation.List && !f.lost {
		f.near(n.Line, text, []string{"stdio", "http", "sse"}, "%s%s must be one of stdio, http, sse, not %s", f.where, key, shown(n))
	}
	return t
}

func (f *fields) serverTools() Tools {
	_, n := f.take("tools")
	t := f.mapping(n, f.where+"tools.")
	rules := Tools{
		Allow:   append(t.globs("allow"), f.globs("includeTools", "enabled_tools")...),
		Deny:    append(t.globs("deny"), f.globs("disabledTools", "excludeTools", "disabled_tools")...),
		Confirm: t.globs("confirm"),
	}
	t.done()
	return rules
}

// way checks that there is exactly one way to reach the server, and that it is one.
func (f *fields) way(s *Server) {
	given := 0
	for _, key := range []string{"command", "url", "serverUrl", "httpUrl", "builtin"} {
		if n := f.node.Get(key); n != nil && n.Kind != notation.Null {
			given++
		}
	}
	line := s.Line
	switch {
	case given == 0:
		f.add(line, "server %q is empty: it needs command, url or builtin", s.Name)
	case given > 1:
		f.add(line, "server %q has more than one of command, url and builtin", s.Name)
	case len(*f.unset) > 0:
	case s.Builtin != "":
	case s.Command == "" && s.URL == "":
		f.blank("command", "url", "serverUrl", "httpUrl")
	case s.Command != "" && (s.Transport == "http" || s.Transport == "sse"):
		f.add(line, "server %q has a command, but transport %s needs url", s.Name, s.Transport)
	case s.URL != "" && s.Transport == "stdio":
		f.add(line, "server %q has a url, but transport stdio needs command", s.Name)
	case s.URL != "" && !isWebURL(s.URL):
		f.add(line, "server %q: url must be http:// or https:// with a host", s.Name)
	}
	if s.URL != "" && s.Command == "" {
		f.unused("args", "env", "cwd", "framing")
	}
	if s.Command != "" && s.URL == "" {
		f.unused("headers", "http_headers")
	}
}

// blank reports the given keys that are there but empty, or hold the wrong kind, which is already
// reported.
func (f *fields) blank(keys ...string) {
	for _, key := range keys {
		if n := f.node.Get(key); n != nil && n.Kind == notation.Text {
			f.add(n.Line, "%s%s is empty", f.where, key)
		}
	}
}

// unused names keys that mean nothing for the way this server is reached.
func (f *fields) unused(keys ...string) {
	for _, key := range keys {
		if n := f.node.Get(key); n != nil && !n.AsksNothing() && n.Kind != notation.Null {
			f.ignore(n.Line, f.where+key, "it has no use here")
		}
	}
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// hash is the server's ID: it changes with everything that may change what the server offers, and
// not with how it is described or supervised.
func (s *Server) hash() string {
	data, err := json.Marshal(struct {
		Name, Command, Dir, URL, Builtin, Transport, Protocol string

		Framing   string `json:",omitempty"`
		Args, Env []string
		Headers   map[string]string
	}{s.Name, s.Command, s.Dir, s.URL, s.Builtin, s.Transport, s.Protocol, s.Framing, s.Args, s.Env, s.Headers})
	if err != nil {
		panic(err) // strings and lists of strings always encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
