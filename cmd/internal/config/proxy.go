package config

import (
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/variable"
)

// Proxy shapes the face proxy.
type Proxy struct {
	ToolName  string  // "" = proxy
	Separator *string // between a server's prefix and a name; nil = "_"
}

// Prefix is what stands before the names of a server's offers in the face proxy, its separator included.
func (c *Config) Prefix(server string) string {
	prefix, separator := server, "_"
	if c.Proxy.Separator != nil {
		separator = *c.Proxy.Separator
	}
	if i := slices.IndexFunc(c.Servers, func(s Server) bool { return s.Name == server }); i >= 0 {
		s := &c.Servers[i]
		if s.Separator != nil {
			separator = *s.Separator
		}
		if s.Prefix != nil {
			prefix = *s.Prefix
		}
	}
	if prefix == "" {
		return "" // nothing to separate
	}
	return prefix + separator
}

func (d *decoder) proxy(f *fields) {
	_, n := f.take("proxy")
	p := d.mapping(n, "proxy.")
	d.out.Proxy = Proxy{ToolName: p.text("toolName"), Separator: p.given("separator")}
	if name := d.out.Proxy.ToolName; name == "proxy-dispatch" || len(name) > 128 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		p.add(p.node.Get("toolName").Line, "proxy.toolName must be up to 128 visible ASCII characters and not proxy-dispatch")
	}
	p.done()
}

// given is a text that may be empty; nil if the key is not there.
func (f *fields) given(key string) *string {
	if f.node == nil {
		return nil
	}
	n := f.node.Get(key)
	text := f.text(key)
	if n == nil || n.Kind == notation.Null {
		return nil
	}
	return &text
}

func (w writer) given(n *notation.Node, key string, value *string) {
	if value != nil {
		n.Put(key, notation.NewText(variable.Escape(w.text(*value))))
	}
}

// faces are what expose may name.
var faces = []string{"dispatch", "proxy", "transparent"}

// HasFace reports whether this build has a face of that name.
func HasFace(name string) bool { return slices.Contains(faces, name) }
