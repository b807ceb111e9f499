package spill

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
)

// Source is one place data came from: an offer of a server, or a file under AllowedRoots.
type Source struct {
	Server string `json:",omitempty"` // the connection,
	Tool   string `json:",omitempty"` // and its tool, resource URI or prompt
	File   string `json:",omitempty"` // absolute path; the others are empty then
	// Given marks data that was handed to the tool whose result this is: it may have passed it on.
	Given bool `json:",omitempty"`
}

// String names the source: connection/tool, or file://PATH.
func (s Source) String() string {
	if s.File != "" {
		return "file://" + filepath.ToSlash(s.File)
	}
	return s.Server + "/" + s.Tool
}

// Sources are where kept data came from, each once.
type Sources []Source

// With returns the sources with more of them added; what is a source of the data itself is not also one that was given.
func (all Sources) With(more ...Source) Sources {
	out := slices.Clone(all)
	for _, s := range more {
		other := s
		other.Given = !s.Given
		switch at := slices.Index(out, other); {
		case slices.Contains(out, s), at >= 0 && s.Given:
		case at >= 0:
			out[at] = s
		default:
			out = append(out, s)
		}
	}
	return out
}

// Given returns the sources as those of data that a tool was given.
func (all Sources) Given() Sources {
	var out Sources
	for _, s := range all {
		s.Given = true
		out = out.With(s)
	}
	return out
}

// Names returns the sources in words.
func (all Sources) Names() []string {
	var out []string
	for _, s := range all {
		name := s.String()
		if s.Given {
			name += " (given)"
		}
		out = append(out, name)
	}
	return out
}

// SourcesOf returns where the data of several items came from.
func SourcesOf(items []Item) Sources {
	var out Sources
	for _, i := range items {
		out = out.With(i.Artifact.From...)
	}
	return out
}

// text is the line of stat; maxNamed sources are named.
func (all Sources) text() string {
	const maxNamed, maxName = 8, 120
	return strings.ReplaceAll(brief.List(all.Names(), maxNamed, maxName), "\n", " ")
}
