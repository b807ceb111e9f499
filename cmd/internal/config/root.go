package config

import (
	"math"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// serverBlocks are the spellings of the block that holds the servers.
var serverBlocks = []string{"mcpServers", "mcp_servers", "servers"}

// IsServerBlock says whether a top-level key of our own file holds the servers.
func IsServerBlock(key string) bool { return slices.Contains(serverBlocks[:2], key) }

var (
	// clientNames are names that clients give to files in which they keep other things too.
	clientNames = []string{".claude.json", "claude_desktop_config.json", "settings.json"}
	// serverNames are names that clients give to files with nothing but servers in them.
	serverNames = []string{".mcp.json", "mcp.json", "mcp_config.json"}
	// onlyClients are top-level keys that only clients write.
	onlyClients = []string{"inputs", "projects", "numStartups"}
)

// whose applies the rule of the package comment to a file.
func (d *decoder) whose(path string, root *notation.Node) {
	name := strings.ToLower(filepath.Base(path))
	servers := root.Get("servers")
	d.blockOnly = notation.Of(path, nil) == notation.TOML || slices.Contains(clientNames, name) || servers != nil && servers.Kind == notation.Mapping ||
		slices.ContainsFunc(onlyClients, func(key string) bool { return root.Get(key) != nil })
	d.client = d.blockOnly || slices.Contains(serverNames, name)
}

// root decodes a whole file.
func (d *decoder) root(n *notation.Node) {
	f := d.mapping(n, "the file")
	f.where = ""
	if d.blockOnly {
		d.clientRoot(f)
		return
	}
	_, list := f.take(serverBlocks[2])
	_, block := f.take(serverBlocks[:2]...)
	d.servers(block, "mcpServers")
	if list != nil && list.Kind == notation.List {
		d.listed(list)
	}
	d.faces(f)
	d.http(f)
	d.spill(f)
	_, roots := f.take("allowedRoots")
	d.roots(f, roots)
	d.toolRules(f)
	d.flow(f)
	d.search(f)
	d.tokens(f)
	d.definition(f)
	d.log(f)
	d.out.CacheDir = f.path("cacheDir")
	d.auth(f)
	d.script(f)
	d.transparent(f)
	d.global(f)
	d.views(f)
	d.orderHooks()
	d.proxy(f)
	f.done()
}

// clientRoot reads only the server block of a client's file.
func (d *decoder) clientRoot(f *fields) {
	var block *notation.Node
	key := ""
	if key, block = f.take(serverBlocks...); block == nil {
		// The settings of an editor keep the block one level down.
		if _, mcp := f.take("mcp"); mcp != nil {
			inner := d.mapping(mcp, "mcp.")
			key, block = inner.take(serverBlocks...)
			inner.done()
		}
	}
	d.servers(block, key)
	f.done()
}

// global reads the hooks and the tools of our own that belong to no view.
func (d *decoder) global(f *fields) {
	d.hooks(f, Hook{})
	d.made(f, "")
	for _, key := range []string{"hooks", "composite_tools", "compositeTools", "custom_tools", "customTools"} {
		if n := f.node.Get(key); n != nil && !n.AsksNothing() {
			d.out.written.Put(key, d.kept(n))
		}
	}
}

func (d *decoder) servers(block *notation.Node, where string) {
	if block == nil {
		return
	}
	if block.Kind != notation.Mapping {
		d.add(block.Line, "%s must be a mapping of names to servers, not %s", where, block.Kind)
		return
	}
	for _, m := range block.Members {
		name := strings.TrimSpace(m.Key)
		if name == "" || len(name) > 128 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			d.add(m.Line, "a server's name must be 1 to 128 bytes without control characters")
			continue
		}
		if slices.ContainsFunc(d.out.Servers, func(s Server) bool { return s.Name == name }) {
			d.add(m.Line, "duplicate server %q", name)
			continue
		}
		d.out.Servers = append(d.out.Servers, d.server(name, where+"."+name+".", m))
	}
}

func (d *decoder) faces(f *fields) {
	_, n := f.take("expose")
	if n == nil {
		return
	}
	for _, face := range f.texts("expose") {
		switch {
		case HasFace(face):
			if !slices.Contains(d.out.Expose, face) {
				d.out.Expose = append(d.out.Expose, face)
			}
		case strings.HasPrefix(face, "view:"):
			d.out.Expose = append(d.out.Expose, face)
			d.exposed = n.Line
		default:
			f.near(n.Line, face, faces, "expose: unknown face %q", face)
		}
	}
}

func (d *decoder) http(f *fields) {
	_, n := f.take("http")
	h := d.mapping(n, "http.")
	d.out.HTTP.Listen = h.text("listen")
	if l := d.out.HTTP.Listen; l != "" && !isAddress(l) {
		h.add(h.node.Get("listen").Line, "http.listen must be HOST:PORT, not %q", l)
	}
	d.out.HTTP.Hosts = h.texts("hosts")
	d.out.HTTP.Stateless, d.out.HTTP.StateKey = h.bool("stateless"), h.text("stateKey")
	d.out.secrets.Add(d.out.HTTP.StateKey)
	if k := d.out.HTTP.StateKey; k != "" && len(k) < 16 && !d.lost {
		h.add(h.node.Get("stateKey").Line, "http.stateKey must have 16 bytes or more")
	}
	d.out.HTTP.Drain = h.duration("drain")
	if d.out.HTTP.AdminToken = h.text("adminToken"); d.out.HTTP.AdminToken != "" {
		d.out.secrets.Add(d.out.HTTP.AdminToken)
		if len(d.out.HTTP.AdminToken) < 16 && !d.lost {
			h.add(h.node.Get("adminToken").Line, "http.adminToken must have 16 bytes or more")
		}
	}
	_, t := h.take("tls")
	tls := d.mapping(t, "http.tls.")
	d.out.HTTP.TLS = TLS{Cert: tls.path("cert"), Key: tls.path("key")}
	if (d.out.HTTP.TLS.Cert == "") != (d.out.HTTP.TLS.Key == "") {
		tls.add(t.Line, "http.tls needs both cert and key")
	}
	tls.done()
	h.done()
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n <= 65535
}

func (d *decoder) spill(f *fields) {
	_, n := f.take("spill")
	s := d.mapping(n, "spill.")
	const exa = math.MaxInt64
	d.out.Spill = Spill{
		Threshold:      s.number("threshold", 0, math.MaxInt32),
		ImageThreshold: s.number("imageThreshold", 0, math.MaxInt32),
		Dir:            s.path("dir"),
		TTL:            s.duration("ttl"),
		QuotaBytes:     s.count("quotaBytes", 1, exa),
		QuotaFiles:     int(s.count("quotaFiles", 1, math.MaxInt32)),
		PrincipalBytes: s.count("principalBytes", 1, exa),
		PrincipalFiles: int(s.count("principalFiles", 1, math.MaxInt32)),
		ReadCeiling:    int(s.count("readCeiling", 1, 1<<30)),
		TOON:           s.enum("format", "auto", "toon") == "toon",
		Bucket:         d.bucket(s),
	}
	s.done()
}

func (d *decoder) roots(f *fields, n *notation.Node) {
	if n == nil {
		return
	}
	for _, r := range f.texts("allowedRoots") {
		if r == "" && !d.lost {
			f.add(n.Line, "allowedRoots holds an empty folder")
			continue
		}
		d.out.AllowedRoots = append(d.out.AllowedRoots, d.absolute(r))
	}
}

func (d *decoder) toolRules(f *fields) {
	_, n := f.take("tools")
	t := d.mapping(n, "tools.")
	d.out.Tools = Tools{Allow: t.globs("allow"), Deny: t.globs("deny"), Confirm: t.globs("confirm")}
	d.out.Pin = Pin(t.enum("pin", string(PinOff), string(PinWarn), string(PinBlock)))
	t.done()
}

func (d *decoder) search(f *fields) {
	_, n := f.take("search")
	s := d.mapping(n, "search.")
	d.out.Search.Budget = int(s.count("budget", 100, 1_000_000))
	d.out.Search.Lexicon = s.path("lexicon")
	d.embeddings(s)
	s.done()
}

func (d *decoder) embeddings(f *fields) {
	_, n := f.take("embeddings")
	if n == nil || n.AsksNothing() {
		return
	}
	e := d.mapping(n, "search.embeddings.")
	out := Embeddings{URL: e.text("url"), Model: e.text("model"), APIKey: e.text("apiKey", "api_key"), Dimensions: int(e.count("dimensions", 1, 16_384))}
	d.out.secrets.Add(out.APIKey)
	d.out.secrets.AddText(out.URL)
	if u, err := url.Parse(out.URL); (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") && !d.lost {
		e.add(n.Line, "search.embeddings needs a url of http or https")
	}
	if out.Model == "" {
		e.add(n.Line, "search.embeddings needs a model")
	}
	d.out.Search.Embeddings = out
	e.done()
}

func (d *decoder) tokens(f *fields) {
	_, n := f.take("tokens")
	t := d.mapping(n, "tokens.")
	d.out.Tokens.Encoding = t.enum("encoding", "o200k_base", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base")
	t.done()
}

func (d *decoder) definition(f *fields) {
	_, n := f.take("definition")
	s := d.mapping(n, "definition.")
	d.out.Definition.Arguments = s.enum("arguments", "object", "string")
	s.done()
}

func (d *decoder) log(f *fields) {
	_, n := f.take("log")
	l := d.mapping(n, "log.")
	d.out.Log = Log{
		Level:  l.enum("level", "debug", "info", "warn", "error"),
		Format: l.enum("format", "text", "json"),
		File:   l.path("file"),
	}
	l.done()
}
