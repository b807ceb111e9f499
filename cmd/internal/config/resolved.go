package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/secret"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/variable"
)

// Resolved returns the configuration as it is in force, as YAML with every alias, variable and
// relative path resolved and every secret as ***.
func (c *Config) Resolved() ([]byte, error) {
	r := c.Redactor()
	return c.print(func(s *Server) maskedServer {
		m := s.masked
		m.command, m.url, m.dir = r.Redact(m.command), r.Redact(m.url), r.Redact(m.dir)
		m.args = slices.Clone(m.args)
		for i := range m.args {
			m.args[i] = r.Redact(m.args[i])
		}
		return m
	}, func(string) string { return secret.Hidden }, r.Redact)
}

// print writes the configuration. show gives the parts of a server, secret the values of env and
// headers, and text every other text as they are to be shown.
func (c *Config) print(show func(*Server) maskedServer, secret, text func(string) string) ([]byte, error) {
	w := writer{text: text}
	servers := &notation.Node{Kind: notation.Mapping}
	for i := range c.Servers {
		s := &c.Servers[i]
		servers.Put(s.Name, w.server(s, show(s), secret))
	}
	root := &notation.Node{Kind: notation.Mapping}
	root.Put("mcpServers", servers)
	w.list(root, "expose", c.Expose)
	w.section(root, "http", func(n *notation.Node) {
		w.string(n, "listen", c.HTTP.Listen)
		w.list(n, "hosts", c.HTTP.Hosts)
		w.flag(n, "stateless", c.HTTP.Stateless)
		if c.HTTP.StateKey != "" {
			n.Put("stateKey", notation.NewText(variable.Escape(secret(c.HTTP.StateKey))))
		}
		w.duration(n, "drain", c.HTTP.Drain)
		if c.HTTP.AdminToken != "" {
			n.Put("adminToken", notation.NewText(variable.Escape(secret(c.HTTP.AdminToken))))
		}
		w.section(n, "tls", func(n *notation.Node) { w.string(n, "cert", c.HTTP.TLS.Cert); w.string(n, "key", c.HTTP.TLS.Key) })
	})
	w.auth(root, &c.Auth)
	w.section(root, "spill", func(n *notation.Node) { w.spill(n, &c.Spill, secret) })
	w.list(root, "allowedRoots", c.AllowedRoots)
	w.section(root, "tools", func(n *notation.Node) { w.rules(n, c.Tools); w.string(n, "pin", string(c.Pin)) })
	w.flow(root, c.Flow)
	w.section(root, "search", func(n *notation.Node) { w.search(n, &c.Search, secret) })
	w.section(root, "tokens", func(n *notation.Node) { w.string(n, "encoding", c.Tokens.Encoding) })
	w.section(root, "definition", func(n *notation.Node) { w.string(n, "arguments", c.Definition.Arguments) })
	w.script(root, c.Script)
	w.section(root, "proxy", func(n *notation.Node) {
		w.string(n, "toolName", c.Proxy.ToolName)
		w.given(n, "separator", c.Proxy.Separator)
	})
	w.section(root, "transparent", func(n *notation.Node) { w.transparent(n, c.Transparent) })
	w.section(root, "log", func(n *notation.Node) {
		w.string(n, "level", c.Log.Level)
		w.string(n, "format", c.Log.Format)
		w.string(n, "file", c.Log.File)
	})
	w.string(root, "cacheDir", c.CacheDir)
	w.written(root, &c.written)
	out, err := notation.PrintYAML(root.YAML())
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return out, nil
}

// writer builds nodes; zero values are left out.
type writer struct{ text func(string) string }

func (w writer) string(n *notation.Node, key, value string) {
	if value != "" {
		n.Put(key, notation.NewText(variable.Escape(w.text(value))))
	}
}

func (w writer) list(n *notation.Node, key string, values []string) {
	if len(values) == 0 {
		return
	}
	list := &notation.Node{Kind: notation.List}
	for _, v := range values {
		list.Items = append(list.Items, notation.NewText(variable.Escape(w.text(v))))
	}
	n.Put(key, list)
}

func (w writer) number(n *notation.Node, key string, v int64) {
	if v != 0 {
		n.Put(key, &notation.Node{Kind: notation.Number, Text: strconv.FormatInt(v, 10)})
	}
}

func (w writer) optional(n *notation.Node, key string, v *int64) {
	if v != nil {
		n.Put(key, &notation.Node{Kind: notation.Number, Text: strconv.FormatInt(*v, 10)})
	}
}

func (w writer) duration(n *notation.Node, key string, d time.Duration) {
	if d != 0 {
		n.Put(key, notation.NewText(d.String()))
	}
}

func (w writer) flag(n *notation.Node, key string, v bool) {
	if v {
		n.Put(key, &notation.Node{Kind: notation.Bool, Text: "true"})
	}
}

// section writes a nested mapping unless it stays empty.
func (w writer) section(n *notation.Node, key string, fill func(*notation.Node)) {
	inner := &notation.Node{Kind: notation.Mapping}
	fill(inner)
	if len(inner.Members) > 0 {
		n.Put(key, inner)
	}
}

func (w writer) tools(n *notation.Node, t Tools) {
	w.section(n, "tools", func(n *notation.Node) { w.rules(n, t) })
}

func (w writer) rules(n *notation.Node, t Tools) {
	w.list(n, "allow", t.Allow)
	w.list(n, "deny", t.Deny)
	w.list(n, "confirm", t.Confirm)
}

func (w writer) spill(n *notation.Node, s *Spill, secret func(string) string) {
	w.optional(n, "threshold", s.Threshold)
	w.optional(n, "imageThreshold", s.ImageThreshold)
	w.string(n, "dir", s.Dir)
	w.duration(n, "ttl", s.TTL)
	w.number(n, "quotaBytes", s.QuotaBytes)
	w.number(n, "quotaFiles", int64(s.QuotaFiles))
	w.number(n, "principalBytes", s.PrincipalBytes)
	w.number(n, "principalFiles", int64(s.PrincipalFiles))
	w.number(n, "readCeiling", int64(s.ReadCeiling))
	if s.TOON {
		w.string(n, "format", "toon")
	}
	w.bucket(n, s.Bucket, secret)
}

func (w writer) server(s *Server, m maskedServer, secret func(string) string) *notation.Node {
	n := &notation.Node{Kind: notation.Mapping}
	if s.Unset != nil {
		n.Comment = s.Unset.Error()
	}
	plain := writer{text: func(s string) string { return s }}
	plain.string(n, "command", m.command)
	plain.list(n, "args", m.args)
	w.section(n, "env", func(n *notation.Node) {
		for _, kv := range s.Env {
			name, value, _ := strings.Cut(kv, "=")
			n.Put(name, notation.NewText(variable.Escape(secret(value))))
		}
	})
	plain.string(n, "cwd", m.dir)
	plain.string(n, "url", m.url)
	w.section(n, "headers", func(n *notation.Node) {
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			n.Put(name, notation.NewText(variable.Escape(secret(s.Headers[name]))))
		}
	})
	w.oauth(n, s.OAuth, secret)
	w.section(n, "claims", func(n *notation.Node) {
		for _, name := range slices.Sorted(maps.Keys(s.Claims)) {
			n.Put(name, notation.NewText(w.text(s.Claims[name])))
		}
	})
	w.string(n, "builtin", s.Builtin)
	w.string(n, "transport", s.Transport)
	w.string(n, "protocol", s.Protocol)
	w.string(n, "framing", s.Framing)
	w.flag(n, "perAgent", s.PerAgent)
	w.duration(n, "timeout", s.Timeout)
	if s.StartTimeout != 0 {
		n.Put("startup_timeout_sec", notation.NewText(strconv.FormatFloat(s.StartTimeout.Seconds(), 'f', -1, 64)))
	}
	w.flag(n, "lazy", s.Lazy)
	w.flag(n, "disabled", s.Disabled)
	w.flag(n, "readOnly", s.ReadOnly)
	w.tools(n, s.Tools)
	w.given(n, "prefix", s.Prefix)
	w.given(n, "separator", s.Separator)
	if s.hooks != nil {
		n.Put("hooks", w.shown(s.hooks))
	}
	if s.Description != "" {
		n.Put("description", notation.NewText(w.text(s.Description)))
	}
	w.literals(n, "keywords", s.Keywords)
	if len(s.OfTools) > 0 {
		w.section(n, "keywords", func(n *notation.Node) {
			for _, k := range s.OfTools {
				w.literals(n, k.Tools, k.Keywords)
			}
		})
	}
	return n
}

// literals writes texts in which nothing is replaced.
func (w writer) literals(n *notation.Node, key string, values []string) {
	list := &notation.Node{Kind: notation.List}
	for _, v := range values {
		list.Items = append(list.Items, notation.NewText(w.text(v)))
	}
	if len(list.Items) > 0 {
		n.Put(key, list)
	}
}

func (w writer) search(n *notation.Node, s *Search, secret func(string) string) {
	w.number(n, "budget", int64(s.Budget))
	w.string(n, "lexicon", s.Lexicon)
	w.section(n, "embeddings", func(n *notation.Node) {
		e := s.Embeddings
		w.string(n, "url", e.URL)
		w.string(n, "model", e.Model)
		if e.APIKey != "" {
			n.Put("apiKey", notation.NewText(variable.Escape(secret(e.APIKey))))
		}
		w.number(n, "dimensions", int64(e.Dimensions))
	})
}
