// Package minia reads the servers that mini-a takes on its command line.
package minia

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// Server is one server of the word mcp=, rewritten into the keys of our own file.
type Server struct {
	Name    string         // its own, or made of the program it runs or its host; not unique
	Entry   *notation.Node // a mapping without lines; nil if there was none
	Faults  []Fault
	Ignored []string // keys that have no meaning for us
}

// Fault is something wrong in a word.
type Fault struct{ Msg string }

// Servers reads the value of the word mcp=: one server or a list of servers, in JSON or SLON.
// The faults are those of the whole; each server has its own.
func Servers(value string) ([]Server, []Fault) {
	n, faults := parseWord(value)
	if n == nil {
		return nil, faults
	}
	entries := n.Items
	if n.Kind != notation.List {
		entries = []*notation.Node{n}
	}
	out := make([]Server, len(entries))
	for i, entry := range entries {
		if entry.Kind != notation.Mapping {
			out[i].fault("entry %d must be a mapping like (cmd: '…'), not %s", i+1, entry.Kind)
			continue
		}
		out[i].Name = entryName(entry)
		out[i].rewrite(entry)
	}
	return out, nil
}

func (s *Server) fault(format string, args ...any) {
	s.Faults = append(s.Faults, Fault{Msg: fmt.Sprintf(format, args...)})
}

// parseWord tells JSON from SLON by trying: only what is no JSON is read as SLON.
func parseWord(value string) (*notation.Node, []Fault) {
	n, wrong := notation.ParseJSON([]byte(value))
	if n != nil && len(wrong) == 0 {
		clearLines(n)
		return n, nil
	}
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		var faults []Fault
		for _, f := range wrong {
			faults = append(faults, Fault{Msg: f.Msg})
		}
		return nil, faults
	}
	n, err := parseSLON(value)
	if err != nil {
		return nil, []Fault{{Msg: "not valid SLON: " + err.Error()}}
	}
	return n, nil
}

// clearLines forgets the lines of a word, which mean nothing to people.
func clearLines(n *notation.Node) {
	n.Line = 0
	for i := range n.Members {
		n.Members[i].Line = 0
		clearLines(n.Members[i].Value)
	}
	for _, item := range n.Items {
		clearLines(item)
	}
}

// rewrite turns mini-a's spelling of a server into ours: cmd becomes command and args, auth a header.
func (s *Server) rewrite(n *notation.Node) {
	s.Entry = &notation.Node{Kind: notation.Mapping}
	for _, m := range n.Members {
		switch m.Key {
		case "cmd":
			s.command(m.Value)
		case "dir", "pwd":
			s.Entry.Put("cwd", m.Value)
		case "auth":
			s.bearer(m.Value)
		case "name", "id":
		case "options", "strict", "debug", "clientInfo", "preFn", "posFn", "toolCacheTtl":
			s.Ignored = append(s.Ignored, m.Key)
		default:
			s.Entry.Members = append(s.Entry.Members, m)
		}
	}
}

func (s *Server) command(n *notation.Node) {
	if n.Kind != notation.Text {
		s.fault("cmd must be text, not %s", n.Kind)
		return
	}
	words, err := splitWords(n.Text)
	if err != nil {
		s.fault("cmd: %v", err)
		s.Entry.Put("command", n)
		return
	}
	if len(words) == 0 {
		words = []string{""}
	}
	s.Entry.Put("command", notation.NewText(words[0]))
	args := &notation.Node{Kind: notation.List}
	for _, w := range words[1:] {
		args.Items = append(args.Items, notation.NewText(w))
	}
	if len(args.Items) > 0 {
		s.Entry.Put("args", args)
	}
}

// bearer reads auth: (type: bearer, token: …).
func (s *Server) bearer(n *notation.Node) {
	kind, token := n.Get("type"), n.Get("token")
	switch {
	case kind != nil && strings.HasPrefix(strings.ToLower(kind.Text), "oauth"):
		return // proxy-dispatch login does that, with what the server itself says
	case kind == nil || !strings.EqualFold(kind.Text, "bearer") || token == nil:
		s.Faults = append(s.Faults, Fault{Msg: "auth must be (type: bearer, token: …) or (type: oauth2)"})
		return
	}
	headers := &notation.Node{Kind: notation.Mapping}
	headers.Put("Authorization", notation.NewText("Bearer "+token.Text))
	s.Entry.Put("headers", headers)
}

// runners are programs that run another one named in their arguments.
var runners = []string{
	"npx", "bunx", "pnpm", "yarn", "dlx", "exec", "uvx", "uv", "pipx", "run", "tool", "node", "deno", "bun", "python", "python3", "docker", "podman",
	"ojob", "oaf", "go", "env", "sh", "bash", "java", "sudo",
}

// entryName makes a name for a server that has none: its own, the program it runs, or its host.
func entryName(n *notation.Node) string {
	for _, key := range []string{"name", "id"} {
		if v := n.Get(key); v != nil && v.Text != "" {
			return v.Text
		}
	}
	if v := n.Get("url"); v != nil {
		if u, err := url.Parse(v.Text); err == nil {
			return cleanName(u.Hostname())
		}
		return "mcp"
	}
	var words []string
	if v := n.Get("cmd"); v != nil {
		words, _ = splitWords(v.Text)
	} else if v := n.Get("command"); v != nil {
		words = []string{v.Text}
		if args := n.Get("args"); args != nil {
			for _, a := range args.Items {
				words = append(words, a.Text)
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
