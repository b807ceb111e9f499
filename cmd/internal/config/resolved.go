package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
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
	}, func(string) string { return hidden }, r.Redact)
}

// print writes the configuration. show gives the parts of a server, secret the values of env and
// headers, and text every other text as they are to be shown.
func (c *Config) print(show func(*Server) maskedServer, secret, text func(string) string) ([]byte, error) {
	w := writer{text: text}
	servers := &yaml.Node{Kind: yaml.MappingNode}
	for i := range c.Servers {
		s := &c.Servers[i]
		w.put(servers, s.Name, w.server(s, show(s), secret))
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	w.put(root, "mcpServers", servers)
	w.list(root, "expose", c.Expose)
	w.section(root, "http", func(n *yaml.Node) {
		w.string(n, "listen", c.HTTP.Listen)
		w.section(n, "tls", func(n *yaml.Node) { w.string(n, "cert", c.HTTP.TLS.Cert); w.string(n, "key", c.HTTP.TLS.Key) })
	})
	w.section(root, "spill", func(n *yaml.Node) { w.spill(n, &c.Spill) })
	w.list(root, "allowedRoots", c.AllowedRoots)
	w.tools(root, c.Tools)
	w.section(root, "search", func(n *yaml.Node) { w.number(n, "budget", int64(c.Search.Budget)) })
	w.section(root, "tokens", func(n *yaml.Node) { w.string(n, "encoding", c.Tokens.Encoding) })
	w.section(root, "definition", func(n *yaml.Node) { w.string(n, "arguments", c.Definition.Arguments) })
	w.section(root, "log", func(n *yaml.Node) {
		w.string(n, "level", c.Log.Level)
		w.string(n, "format", c.Log.Format)
		w.string(n, "file", c.Log.File)
	})
	w.string(root, "cacheDir", c.CacheDir)
	var out bytes.Buffer
	d, err := yaml.NewDumper(&out, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	if err := d.Dump(root); err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return out.Bytes(), d.Close()
}

// writer builds YAML nodes; zero values are left out.
type writer struct{ text func(string) string }

func (w writer) put(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, yamlText(key), value)
}

// yamlText is a text node that no reader takes for another kind of value.
func yamlText(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

func (w writer) string(n *yaml.Node, key, value string) {
	if value != "" {
		w.put(n, key, yamlText(unexpanded(w.text(value))))
	}
}

func (w writer) list(n *yaml.Node, key string, values []string) {
	if len(values) == 0 {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, v := range values {
		list.Content = append(list.Content, yamlText(unexpanded(w.text(v))))
	}
	w.put(n, key, list)
}

func (w writer) number(n *yaml.Node, key string, v int64) {
	if v != 0 {
		w.put(n, key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v, 10)})
	}
}

func (w writer) optional(n *yaml.Node, key string, v *int64) {
	if v != nil {
		w.put(n, key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(*v, 10)})
	}
}

func (w writer) duration(n *yaml.Node, key string, d time.Duration) {
	if d != 0 {
		w.put(n, key, yamlText(d.String()))
	}
}

func (w writer) flag(n *yaml.Node, key string, v bool) {
	if v {
		w.put(n, key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
}

// section writes a nested mapping unless it stays empty.
func (w writer) section(n *yaml.Node, key string, fill func(*yaml.Node)) {
	inner := &yaml.Node{Kind: yaml.MappingNode}
	fill(inner)
	if len(inner.Content) > 0 {
		w.put(n, key, inner)
	}
}

func (w writer) tools(n *yaml.Node, t Tools) {
	w.section(n, "tools", func(n *yaml.Node) {
		w.list(n, "allow", t.Allow)
		w.list(n, "deny", t.Deny)
	})
}

func (w writer) spill(n *yaml.Node, s *Spill) {
	w.optional(n, "threshold", s.Threshold)
	w.optional(n, "imageThreshold", s.ImageThreshold)
	w.string(n, "dir", s.Dir)
	w.duration(n, "ttl", s.TTL)
	w.number(n, "quotaBytes", s.QuotaBytes)
	w.number(n, "quotaFiles", int64(s.QuotaFiles))
	w.number(n, "readCeiling", int64(s.ReadCeiling))
}

func (w writer) server(s *Server, m maskedServer, secret func(string) string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if s.Unset != nil {
		n.HeadComment = "# " + s.Unset.Error()
	}
	plain := writer{text: func(s string) string { return s }}
	plain.string(n, "command", m.command)
	plain.list(n, "args", m.args)
	w.section(n, "env", func(n *yaml.Node) {
		for _, kv := range s.Env {
			name, value, _ := strings.Cut(kv, "=")
			w.put(n, name, yamlText(unexpanded(secret(value))))
		}
	})
	plain.string(n, "cwd", m.dir)
	plain.string(n, "url", m.url)
	w.section(n, "headers", func(n *yaml.Node) {
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			w.put(n, name, yamlText(unexpanded(secret(s.Headers[name]))))
		}
	})
	w.string(n, "builtin", s.Builtin)
	w.string(n, "transport", s.Transport)
	w.string(n, "protocol", s.Protocol)
	w.duration(n, "timeout", s.Timeout)
	if s.StartTimeout != 0 {
		w.put(n, "startup_timeout_sec", yamlText(strconv.FormatFloat(s.StartTimeout.Seconds(), 'f', -1, 64)))
	}
	w.flag(n, "lazy", s.Lazy)
	w.flag(n, "disabled", s.Disabled)
	w.flag(n, "readOnly", s.ReadOnly)
	w.tools(n, s.Tools)
	if s.Description != "" {
		w.put(n, "description", yamlText(w.text(s.Description)))
	}
	keywords := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, k := range s.Keywords {
		keywords.Content = append(keywords.Content, yamlText(w.text(k)))
	}
	if len(keywords.Content) > 0 {
		w.put(n, "keywords", keywords)
	}
	return n
}
