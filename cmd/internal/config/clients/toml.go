package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
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

func (t *tomlClient) read() ([]entry, []notation.Fault) {
	data := bytes.TrimPrefix(t.move.File, []byte("\xef\xbb\xbf"))
	n, faults := notation.ParseTOML(data)
	if n == nil || len(faults) > 0 {
		return nil, faults
	}
	t.lines = strings.SplitAfter(string(data), "\n")
	t.split(data)
	block := n.Get("mcp_servers")
	if block == nil {
		return nil, nil
	}
	var out []entry
	for _, m := range block.Members {
		i := slices.IndexFunc(t.sections, func(s tomlSection) bool { return s.server() == m.Key })
		if i < 0 || block.Kind != notation.Mapping {
			faults = append(faults, notation.Fault{Line: m.Line, Msg: fmt.Sprintf("mcp_servers.%s is written inline: write it as a table [mcp_servers.%[1]s] first", m.Key)})
			continue
		}
		s := t.sections[i]
		out = append(out, entry{m.Key, plainComment(strings.Join(t.lines[s.start:s.header], ""), "#"), m.Value})
	}
	return out, faults
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
	for _, table := range notation.Tables(data) {
		s := tomlSection{path: table.Path, header: table.Line - 1}
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
	if _, faults := notation.ParseTOML(data); len(faults) > 0 {
		return nil, fmt.Errorf("write %s: %w", t.move.Path, config.ErrorsOf(t.move.Path, faults))
	}
	return data, nil
}

func tomlEntry(m Move) string {
	// The quotes and escapes of JSON are those of TOML's basic strings.
	quote := func(s string) string { return string(jsonText(s)) }
	return "[mcp_servers." + EntryName + "]\ncommand = " + quote(m.Binary) + "\nargs = [\"serve\", \"--config\", " + quote(m.Config) + "]\n"
}
