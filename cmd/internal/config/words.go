package config

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// wordNames are mini-a's words. usetools is what mini-a needs beside them; it changes nothing here.
var wordNames = []string{
	"mcp", "mcpproxy", "useutils", "mcplazy", "mcpproxythreshold", "mcpproxytoon", "mcpproxyallow", "mcpproxydeny", "toolcachettl", "usetools",
}

// IsWord says whether an argument of the command line is one of mini-a's words, NAME=VALUE.
func IsWord(arg string) bool {
	name, _, found := strings.Cut(arg, "=")
	return found && slices.Contains(wordNames, name)
}

// FromWords reads mini-a's words into a configuration: mcp= (may be repeated), mcpproxy=true,
// useutils=true, mcplazy=true, mcpproxythreshold=N, mcpproxyallow= and mcpproxydeny= (names or globs
// between commas). Servers get the name they are given (name or id), else one made of their command
// or host. With useutils the working folder is the one allowed root.
// The error is Errors; its File is the word at fault.
func FromWords(words []string, env func(string) (string, bool)) (*Config, error) {
	p := &problems{}
	d := newDecoder("", env, p)
	lazy, utils := false, false
	for _, word := range words {
		name, value, found := strings.Cut(word, "=")
		p.file = name + "="
		if !found {
			p.file = ""
			p.near(0, word, wordNames, "%q is no NAME=VALUE", word)
			continue
		}
		switch name {
		case "mcp":
			d.mcpWord(value)
		case "mcplazy":
			lazy = d.boolWord(value)
		case "useutils":
			utils = d.boolWord(value)
		default:
			d.word(name, value)
		}
	}
	if utils {
		d.out.Servers = append(d.out.Servers, d.words("utils", &node{kind: aMapping, members: []member{{key: "builtin", value: &node{kind: aText, text: "utils"}}}}))
		d.out.AllowedRoots = []string{d.absolute(".")}
	}
	for i := range d.out.Servers {
		d.out.Servers[i].Lazy = d.out.Servers[i].Lazy || lazy
	}
	return d.finish()
}

// word reads the words that stand for themselves.
func (d *decoder) word(name, value string) {
	switch name {
	case "mcpproxy":
		if !d.boolWord(value) {
			d.later(0, "plain tools without the proxy")
		}
	case "usetools":
		d.boolWord(value)
	case "mcpproxythreshold":
		v, ok := parseSize(value)
		if !ok || v < 0 || v > 1<<31-1 {
			d.add(0, "must be a number of bytes, not %q", value)
			return
		}
		d.out.Spill.Threshold = &v
	case "mcpproxyallow":
		d.out.Tools.Allow = append(d.out.Tools.Allow, d.globWord(value)...)
	case "mcpproxydeny":
		d.out.Tools.Deny = append(d.out.Tools.Deny, d.globWord(value)...)
	case "mcpproxytoon":
		if d.boolWord(value) {
			d.later(0, "mcpproxytoon")
		}
	case "toolcachettl":
		if v, err := strconv.ParseFloat(value, 64); err != nil || v != 0 {
			d.later(0, "toolcachettl")
		}
	default:
		d.near(0, name, wordNames, "unknown word %q", name)
	}
}

func (d *decoder) boolWord(value string) bool {
	if value != "true" && value != "false" {
		d.add(0, "must be true or false, not %q", value)
	}
	return value == "true"
}

func (d *decoder) globWord(value string) []string {
	list := &node{kind: aList}
	for g := range strings.SplitSeq(value, ",") {
		if g = strings.TrimSpace(g); g != "" {
			list.items = append(list.items, &node{kind: aText, text: g})
		}
	}
	return d.mapping(&node{kind: aMapping, members: []member{{key: "patterns", value: list}}}, "").globs("patterns")
}

// mcpWord reads one server or a list of servers, in JSON or SLON.
func (d *decoder) mcpWord(value string) {
	n := d.parseWord(value)
	if n == nil {
		return
	}
	entries := n.items
	if n.kind != aList {
		entries = []*node{n}
	}
	for i, entry := range entries {
		if entry.kind != aMapping {
			d.add(0, "entry %d must be a mapping like (cmd: '…'), not %s", i+1, entry.kind)
			continue
		}
		name := d.uniqueName(entryName(entry))
		d.out.Servers = append(d.out.Servers, d.words(name, d.entry(entry)))
	}
}

// parseWord tells JSON from SLON by trying: only what is no JSON is read as SLON.
func (d *decoder) parseWord(value string) *node {
	trial := &problems{file: d.file}
	if n := parseJSON([]byte(value), trial); n != nil && len(trial.list) == 0 {
		clearLines(n)
		return n
	}
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		for _, e := range trial.list {
			e.Line = 0
		}
		d.list = append(d.list, trial.list...)
		return nil
	}
	n, err := parseSLON(value)
	if err != nil {
		d.add(0, "not valid SLON: %v", err)
		return nil
	}
	return n
}

// clearLines forgets the lines of a word, which mean nothing to people.
func clearLines(n *node) {
	n.line = 0
	for i := range n.members {
		n.members[i].line = 0
		clearLines(n.members[i].value)
	}
	for _, item := range n.items {
		clearLines(item)
	}
}

func (d *decoder) words(name string, entry *node) Server {
	return d.server(name, "", member{key: name, value: entry})
}

// entry rewrites mini-a's spelling of a server into ours: cmd becomes command and args, auth a
// header.
func (d *decoder) entry(n *node) *node {
	out := &node{kind: aMapping}
	for _, m := range n.members {
		switch m.key {
		case "cmd":
			out.members = append(out.members, d.command(m.value)...)
		case "dir", "pwd":
			out.members = append(out.members, member{key: "cwd", value: m.value})
		case "auth":
			out.members = append(out.members, d.bearer(m.value)...)
		case "name", "id":
		case "options", "strict", "debug", "clientInfo", "preFn", "posFn", "toolCacheTtl":
			d.ignore(0, m.key, "it has no meaning here")
		default:
			out.members = append(out.members, m)
		}
	}
	return out
}

func (d *decoder) command(n *node) []member {
	if n.kind != aText {
		d.add(0, "cmd must be text, not %s", n.kind)
		return nil
	}
	words, err := splitWords(n.text)
	if err != nil {
		d.add(0, "cmd: %v", err)
		return []member{{key: "command", value: n}}
	}
	if len(words) == 0 {
		words = []string{""}
	}
	args := &node{kind: aList}
	for _, w := range words[1:] {
		args.items = append(args.items, &node{kind: aText, text: w})
	}
	out := []member{{key: "command", value: &node{kind: aText, text: words[0]}}}
	if len(args.items) > 0 {
		out = append(out, member{key: "args", value: args})
	}
	return out
}

// bearer reads auth: (type: bearer, token: …).
func (d *decoder) bearer(n *node) []member {
	kind, token := n.get("type"), n.get("token")
	if kind == nil || !strings.EqualFold(kind.text, "bearer") || token == nil {
		d.later(0, "auth other than (type: bearer, token: …)")
		return nil
	}
	value := &node{kind: aText, text: "Bearer " + token.text}
	return []member{{key: "headers", value: &node{kind: aMapping, members: []member{{key: "Authorization", value: value}}}}}
}

// runners are programs that run another one named in their arguments.
var runners = []string{
	"npx", "bunx", "pnpm", "yarn", "dlx", "exec", "uvx", "uv", "pipx", "run", "tool", "node", "deno", "bun", "python", "python3", "docker", "podman",
	"ojob", "oaf", "go", "env", "sh", "bash", "java", "sudo",
}

// entryName makes a name for a server that has none: its own, the program it runs, or its host.
func entryName(n *node) string {
	for _, key := range []string{"name", "id"} {
		if v := n.get(key); v != nil && v.text != "" {
			return v.text
		}
	}
	if v := n.get("url"); v != nil {
		if u, err := url.Parse(v.text); err == nil {
			return cleanName(u.Hostname())
		}
		return "mcp"
	}
	var words []string
	if v := n.get("cmd"); v != nil {
		words, _ = splitWords(v.text)
	} else if v := n.get("command"); v != nil {
		words = []string{v.text}
		if args := n.get("args"); args != nil {
			for _, a := range args.items {
				words = append(words, a.text)
			}
		}
	}
	for _, w := range words {
		base := path.Base(strings.ReplaceAll(w, `\`, "/"))
		if strings.HasPrefix(w, "-") || strings.Contains(w, "=") || slices.Contains(runners, base) {
			continue
		}
		if at := strings.LastIndexByte(base, '@'); at > 0 {
			base = base[:at]
		}
		return cleanName(strings.TrimSuffix(base, path.Ext(base)))
	}
	return "mcp"
}

func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, s)
	if s = strings.Trim(s[:min(len(s), 64)], "-."); s == "" {
		return "mcp"
	}
	return s
}

// uniqueName adds a number to a name that is taken.
func (d *decoder) uniqueName(name string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(d.out.Servers, func(s Server) bool { return s.Name == name })
	}
	unique := name
	for i := 2; taken(unique); i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	return unique
}

// Merge adds another configuration: its servers come after c's, its other settings win where they
// are set. It must not run while c is used. A server of the same name in both is an error.
func (c *Config) Merge(o *Config) error {
	for _, s := range o.Servers {
		if slices.ContainsFunc(c.Servers, func(have Server) bool { return have.Name == s.Name }) {
			return fmt.Errorf("server %q is in the configuration file and on the command line", s.Name)
		}
		c.Servers = append(c.Servers, s)
	}
	if o.Spill.Threshold != nil {
		c.Spill.Threshold = o.Spill.Threshold
	}
	c.Tools.Allow = append(c.Tools.Allow, o.Tools.Allow...)
	c.Tools.Deny = append(c.Tools.Deny, o.Tools.Deny...)
	c.AllowedRoots = append(c.AllowedRoots, o.AllowedRoots...)
	c.Ignored = append(c.Ignored, o.Ignored...)
	for v := range o.secrets.values {
		c.secrets.add(v)
	}
	return nil
}
