package view

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gobwas/glob"
)

// Exposure says in which form a view's tools are offered.
type Exposure string

// The exposures of a view.
const (
	Direct          Exposure = "direct"            // each tool under its plain name; the default
	Search          Exposure = "search"            // a tool to search, one to call, one to describe
	SearchPerServer Exposure = "search_per_server" // the same three for each server
	Dispatch        Exposure = "dispatch"          // the one tool, limited to the view
)

// Exposures lists them.
var Exposures = []Exposure{Direct, Search, SearchPerServer, Dispatch}

// Definition is a view as the configuration writes it. What it does not name is not in the view.
type Definition struct {
	// Description is what the view is for, in the agent's instructions.
	Description string
	// Exposure is the form of the view; "" means Direct.
	Exposure Exposure
	// Tools names the tools, by server. A server's and a tool's exact name beats a pattern, the first
	// matching pattern the later ones.
	Tools []ServerTools
	// IncludeAll lets in everything of all servers but ExcludeServers (patterns); Tools then only changes it.
	IncludeAll     bool
	ExcludeServers []string
	// Resources and Prompts are patterns for URIs and names, by server. The view also lets in what is in
	// no list but matches.
	Resources, Prompts map[string][]string
	// Spill keeps large results aside also where the view's form has no tool to read them, and adds one.
	Spill bool
}

// ServerTools are a view's rules for the tools of one server, or of the servers that a pattern matches.
type ServerTools struct {
	Server string
	Tools  []Tool
}

// Tool is a view's rule for one tool, or for the tools that a pattern matches.
type Tool struct {
	// Match is the server's own name, or a pattern.
	Match string
	// Name is the tool's name in the view; "" means its own.
	Name string
	// Aliases are further names that work; nothing lists them.
	Aliases []string
	// Also shows the tool once more for each element, by another name and with its own words.
	Also []Tool
	// Description replaces the server's; {original} in it stands for that. "" keeps it.
	Description string
	// Disabled keeps the tool out.
	Disabled bool
	// Parameters changes single parameters, by the server's own name.
	Parameters []Parameter
}

// Parameter is a view's rule for one parameter of a tool.
type Parameter struct {
	Match string
	// Hide takes it out of the schema; what an agent sends for it is dropped.
	Hide bool
	// Value is always sent, and hides it. Nil: none.
	Value json.RawMessage
	// Default is sent where the agent sends nothing, and makes it optional. Nil: none.
	Default json.RawMessage
	// Rename is its name in the view; "" means its own.
	Rename string
	// Description replaces the server's; {original} in it stands for that. "" keeps it.
	Description string
}

// DefinitionError is a fault in a definition.
type DefinitionError struct {
	// Path leads to the fault, by the names of Definition: Tools, a server, a tool, Parameters, a parameter.
	Path []string
	Err  error
}

// Error names the place.
func (e *DefinitionError) Error() string { return fmt.Sprintf("%v: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *DefinitionError) Unwrap() error { return e.Err }

// shape is a compiled Definition.
type shape struct {
	Definition
	servers  []serverShape
	excluded []*glob.Pattern
	others   map[string]otherShape
}

type serverShape struct {
	name    string
	pattern *glob.Pattern
	tools   []toolShape
}

type toolShape struct {
	Tool
	pattern *glob.Pattern
}

type otherShape struct{ resources, prompts []*glob.Pattern }

// compileDefinition checks a definition; the error is a *DefinitionError.
func compileDefinition(d Definition) (*shape, error) {
	s := &shape{Definition: d, others: map[string]otherShape{}}
	if s.Exposure == "" {
		s.Exposure = Direct
	}
	if !slices.Contains(Exposures, s.Exposure) {
		return nil, &DefinitionError{Path: []string{"Exposure"}, Err: fmt.Errorf("there is no exposure %q", s.Exposure)}
	}
	var err error
	if s.excluded, err = compileGlobs(d.ExcludeServers); err != nil {
		return nil, &DefinitionError{Path: []string{"ExcludeServers"}, Err: err}
	}
	for _, st := range d.Tools {
		one, err := compileServer(st)
		if err != nil {
			return nil, err
		}
		s.servers = append(s.servers, one)
	}
	for server, patterns := range d.Resources {
		globs, err := compileGlobs(patterns)
		if err != nil {
			return nil, &DefinitionError{Path: []string{"Resources", server}, Err: err}
		}
		s.others[server] = otherShape{resources: globs}
	}
	for server, patterns := range d.Prompts {
		globs, err := compileGlobs(patterns)
		if err != nil {
			return nil, &DefinitionError{Path: []string{"Prompts", server}, Err: err}
		}
		s.others[server] = otherShape{resources: s.others[server].resources, prompts: globs}
	}
	return s, nil
}

func compileServer(st ServerTools) (serverShape, error) {
	out := serverShape{name: st.Server}
	path := []string{"Tools", st.Server}
	var err error
	if out.pattern, err = glob.Compile(st.Server); err != nil {
		return out, &DefinitionError{Path: path, Err: fmt.Errorf("pattern: %w", err)}
	}
	for _, t := range st.Tools {
		ts := toolShape{Tool: t}
		here := append(slices.Clone(path), t.Match)
		if ts.pattern, err = glob.Compile(t.Match); err != nil {
			return out, &DefinitionError{Path: here, Err: fmt.Errorf("pattern: %w", err)}
		}
		out.tools = append(out.tools, ts)
	}
	return out, nil
}

// rulesOf returns the rules for a server, exact name first; nil if there are none.
func (s *shape) rulesOf(server string) []toolShape {
	for _, ss := range s.servers {
		if ss.name == server {
			return ss.tools
		}
	}
	for _, ss := range s.servers {
		if ss.pattern.Match(server) {
			return ss.tools
		}
	}
	return nil
}

// ruleFor returns the rule for a tool, exact name first; nil if there is none.
func ruleFor(rules []toolShape, tool string) *Tool {
	for i := range rules {
		if rules[i].Match == tool {
			return &rules[i].Tool
		}
	}
	for i := range rules {
		if rules[i].pattern.Match(tool) {
			return &rules[i].Tool
		}
	}
	return nil
}

// includes reports whether everything of a server is let in.
func (s *shape) includes(server string) bool {
	return s.IncludeAll && !matches(s.excluded, []string{server})
}

// reaches reports whether the view names a server at all.
func (s *shape) reaches(server string) bool {
	if matches(s.excluded, []string{server}) {
		return false
	}
	_, other := s.others[server]
	return s.IncludeAll || other || s.rulesOf(server) != nil
}
