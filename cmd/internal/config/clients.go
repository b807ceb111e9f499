package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// EntryName is the name of our own entry in a client's configuration.
const EntryName = "proxy-dispatch"

// client is what is particular about one client's configuration.
type client struct {
	block string // key of its server block
	typed bool   // its entries say type: stdio
	// Which ${…} its texts may hold: none (they are literal), ${VAR} as ours, or ${env:VAR} beside
	// variables that only it can fill in.
	literal, envOnly bool
	files            func(p clientPaths) []string
}

// clientPaths are the folders that a client's files are found under.
type clientPaths struct{ dir, home, settings string }

var clients = map[string]client{
	"claude-code": {block: "mcpServers", typed: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.dir, ".mcp.json"), filepath.Join(p.home, ".claude.json")}
	}},
	"claude-desktop": {block: "mcpServers", literal: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.settings, "Claude", "claude_desktop_config.json")}
	}},
	"cursor": {block: "mcpServers", envOnly: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.dir, ".cursor", "mcp.json"), filepath.Join(p.home, ".cursor", "mcp.json")}
	}},
	"vscode": {block: "servers", typed: true, envOnly: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.dir, ".vscode", "mcp.json"), filepath.Join(p.settings, "Code", "User", "mcp.json")}
	}},
	"codex": {block: "mcp_servers", literal: true, files: func(p clientPaths) []string {
		return []string{filepath.Join(p.home, ".codex", "config.toml")}
	}},
}

// Clients returns the names of the clients that Move knows.
func Clients() []string {
	return []string{"claude-code", "claude-desktop", "cursor", "vscode", "codex"}
}

// ClientFiles returns where a client keeps its configuration, the file of the project in dir before
// that of the user. goos is a value of runtime.GOOS. Unknown clients and a missing home folder give
// none.
func ClientFiles(name, goos, dir string, env func(string) (string, bool)) []string {
	home, ok := homeDir(env)
	c, known := clients[name]
	if !ok || !known {
		return nil
	}
	p := clientPaths{dir: dir, home: home, settings: filepath.Join(home, ".config")}
	switch goos {
	case "darwin":
		p.settings = filepath.Join(home, "Library", "Application Support")
	case "windows":
		p.settings = filepath.Join(home, "AppData", "Roaming")
		if appData, ok := env("APPDATA"); ok && appData != "" {
			p.settings = appData
		}
	default:
		if xdg, ok := env("XDG_CONFIG_HOME"); ok && filepath.IsAbs(xdg) {
			p.settings = xdg
		}
	}
	if codex, ok := env("CODEX_HOME"); ok && name == "codex" && codex != "" {
		return []string{filepath.Join(codex, "config.toml")}
	}
	return c.files(p)
}

// ErrUnknownClient is wrapped when Move is asked for a client it does not know.
var ErrUnknownClient = errors.New("unknown client")

// ErrTaken is wrapped when the client's file has an entry of our name that uses another
// configuration.
var ErrTaken = errors.New("there is already an entry " + EntryName)

// Move is the moving of a client's servers behind us: what is there, and where we are.
type Move struct {
	Client string // one of Clients
	Path   string // of the client's file, for its notation and for errors
	File   []byte // the client's file; nil if there is none
	Ours   []byte // our own YAML file; nil if there is none
	// Config is the path of our own file and Binary that of our program, as the client is to call us.
	Config, Binary string
}

// Moved is what a Move comes to. Nothing was written.
type Moved struct {
	File []byte   // the client's new file
	Ours []byte   // our new YAML file
	Now  []string // servers that are now behind us
	Kept []string // servers left with the client, as NAME: why
	// Dropped are keys that have no meaning for us, as NAME.KEY.
	Dropped []string
}

// Run works the new files out. Order and comments of both files stay as far as their notations
// allow; the comments above a server's entry go with it.
func (m Move) Run() (*Moved, error) {
	c, ok := clients[m.Client]
	if !ok {
		return nil, &Error{Msg: fmt.Sprintf("%v %q", ErrUnknownClient, m.Client), Near: nearest(m.Client, Clients()), Err: ErrUnknownClient}
	}
	p := &problems{file: m.Path}
	var file clientFile = &jsonClient{client: c, move: m}
	if notationOf(m.Path, m.File) == inTOML {
		file = &tomlClient{move: m}
	}
	entries := file.read(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	out := &Moved{}
	var moving []entry
	for _, e := range entries {
		if e.name == EntryName {
			if !mentions(e.value, m.Config) {
				return nil, fmt.Errorf("move servers of %s: %w with another configuration", m.Path, ErrTaken)
			}
			continue
		}
		if why := c.keeps(e.value); why != "" {
			out.Kept = append(out.Kept, e.name+": "+why)
			continue
		}
		e.value = c.translate(e, out)
		moving = append(moving, e)
	}
	var err error
	if out.Ours, out.Now, err = m.addToOurs(moving); err != nil {
		return nil, err
	}
	out.File, err = file.without(moving)
	return out, err
}

// clientFile is a client's file in its own notation.
type clientFile interface {
	// read returns the servers in the file, in order.
	read(p *problems) []entry
	// without returns the file with our entry in the place of those that move.
	without(moving []entry) ([]byte, error)
}

// entry is one server in a client's file.
type entry struct {
	name    string
	comment string // above it, without the notation's marks
	value   *node
}

// mentions says whether one of an entry's arguments is text.
func mentions(n *node, text string) bool {
	args := n.get("args")
	return args != nil && slices.ContainsFunc(args.items, func(a *node) bool { return a.text == text })
}

// keeps says why a server cannot leave its client, empty if it can.
func (c client) keeps(n *node) string {
	if n.kind != aMapping {
		return "its entry is " + string(n.kind)
	}
	if n.get("envFile") != nil {
		return "it uses envFile"
	}
	why := ""
	n.each(func(text string) {
		for _, variable := range strings.SplitAfter(text, "${")[1:] {
			name, _, _ := strings.Cut(variable, "}")
			if (c.envOnly || strings.HasPrefix(name, "input:")) && !strings.HasPrefix(name, "env:") {
				why = "only the client can fill in ${" + name + "}"
			}
		}
	})
	return why
}

// each visits every text of a tree.
func (n *node) each(visit func(text string)) {
	if n.kind == aText {
		visit(n.text)
	}
	for _, m := range n.members {
		m.value.each(visit)
	}
	for _, item := range n.items {
		item.each(visit)
	}
}

// renamed are keys of clients that are called otherwise in our file.
var renamed = map[string]string{"type": "transport", "serverUrl": "url", "httpUrl": "url", "http_headers": "headers"}

// translate writes an entry in our own words.
func (c client) translate(e entry, out *Moved) *node {
	n := &node{kind: aMapping}
	for _, m := range e.value.members {
		key, value := m.key, m.value
		if ours, ok := renamed[key]; ok && e.value.get(ours) == nil {
			key = ours
		}
		switch {
		case m.key == "enabled":
			if value.text == "true" {
				continue
			}
			key, value = "disabled", &node{kind: aBool, text: "true"}
		case m.key == "type":
			value = &node{kind: aText, text: transports[value.text]}
			if value.text == "" {
				continue
			}
		case slices.Contains(ignoredKeys, m.key) || !serverKeys[key]:
			out.Dropped = append(out.Dropped, e.name+"."+m.key)
			continue
		}
		if value.kind == aNull || asksNothing(value) {
			continue
		}
		if c.literal {
			value = value.literal()
		}
		n.members = append(n.members, member{key: key, value: value})
	}
	return n
}

// serverKeys are the keys that a server's entry may have in our file.
var serverKeys = map[string]bool{
	"command": true, "args": true, "env": true, "cwd": true, "url": true, "headers": true, "transport": true, "timeout": true, "disabled": true,
	"description": true, "includeTools": true, "enabled_tools": true, "disabledTools": true, "excludeTools": true, "disabled_tools": true,
	"tool_timeout_sec": true, "startup_timeout_sec": true, "bearer_token_env_var": true, "env_http_headers": true,
}

// literal returns a copy of n in which no text means a variable.
func (n *node) literal() *node {
	out := &node{kind: n.kind, text: n.text, line: n.line}
	if n.kind == aText {
		out.text = unexpanded(n.text)
	}
	for _, m := range n.members {
		out.members = append(out.members, member{m.key, m.line, m.value.literal()})
	}
	for _, item := range n.items {
		out.items = append(out.items, item.literal())
	}
	return out
}
