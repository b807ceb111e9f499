package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlClient is a client's file in TOML. It is edited by lines, so that everything else in it stays
// as it is.
type tomlClient struct {
	move     Move
	lines    []string
	sections []tomlSection
}

// tomlSection is a table of the file: the comment lines right above its header, the header, and
// what follows up to the next section.
type tomlSection struct {
	path       []string
	start, end int // lines, 0-based, end exclusive
	header     int
}

func (t *tomlClient) read(p *problems) []entry {
	data := bytes.TrimPrefix(t.move.File, []byte("\xef\xbb\xbf"))
	n := parseTOML(data, p)
	if n == nil || len(p.list) > 0 {
		return nil
	}
	t.lines = strings.SplitAfter(string(data), "\n")
	t.split(data)
	block := n.get("mcp_servers")
	if block == nil {
		return nil
	}
	var out []entry
	for _, m := range block.members {
		i := slices.IndexFunc(t.sections, func(s tomlSection) bool { return s.server() == m.key })
		if i < 0 || block.kind != aMapping {
			p.add(m.line, "mcp_servers.%s is written inline: write it as a table [mcp_servers.%s] first", m.key, m.key)
			continue
		}
		s := t.sections[i]
		out = append(out, entry{m.key, plainComment(strings.Join(t.lines[s.start:s.header], ""), "#"), m.value})
	}
	return out
}

// server returns the name of the server that a section belongs to, empty if it belongs to none.
func (s tomlSection) server() string {
	if len(s.path) < 2 || s.path[0] != "mcp_servers" {
		return ""
	}
	return s.path[1]
}

// split finds the sections of a valid document.
func (t *tomlClient) split(data []byte) {
	var parser unstable.Parser
	parser.Reset(data)
	c := tomlConverter{&parser}
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var s tomlSection
		for _, step := range c.path(e.Key()) {
			s.path = append(s.path, step.key)
			s.header = step.line - 1
		}
		for s.start = s.header; s.start > 0 && strings.HasPrefix(strings.TrimSpace(t.lines[s.start-1]), "#"); {
			s.start--
		}
		if n := len(t.sections); n > 0 {
			t.sections[n-1].end = s.start
		}
		s.end = len(t.lines)
		t.sections = append(t.sections, s)
	}
}

func (t *tomlClient) without(moving []entry) ([]byte, error) {
	out, place, have := []string{}, -1, false
	at := 0
	for _, s := range t.sections {
		out = append(out, t.lines[at:s.start]...)
		at = s.start
		have = have || s.server() == EntryName
		if name := s.server(); name == "" || !slices.ContainsFunc(moving, func(e entry) bool { return e.name == name }) {
			continue
		}
		if place < 0 {
			place = len(out)
		}
		at = s.end
	}
	out = append(out, t.lines[at:]...)
	if !have {
		ours := tomlEntry(t.move)
		if place < 0 {
			place = len(out)
			if text := strings.Join(out, ""); text != "" {
				ours = strings.Repeat("\n", 2-min(2, len(text)-len(strings.TrimRight(text, "\n")))) + ours
			}
		}
		if place < len(out) && strings.TrimSpace(strings.Join(out[place:], "")) != "" {
			ours += "\n"
		}
		out = slices.Insert(out, place, ours)
	}
	data := []byte(strings.Join(out, ""))
	p := &problems{file: t.move.Path}
	if parseTOML(data, p); len(p.list) > 0 {
		return nil, fmt.Errorf("write %s: %w", t.move.Path, p.err())
	}
	return data, nil
}

func tomlEntry(m Move) string {
	// The quotes and escapes of JSON are those of TOML's basic strings.
	quote := func(s string) string { return string(jsonText(s)) }
	return "[mcp_servers." + EntryName + "]\ncommand = " + quote(m.Binary) + "\nargs = [\"serve\", \"--config\", " + quote(m.Config) + "]\n"
}
