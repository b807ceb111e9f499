package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/minia"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
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
// useutils=true, mcplazy=true, mcpproxythreshold=N, mcpproxytoon=true, mcpproxyallow= and mcpproxydeny= (names or globs
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
		entry := &notation.Node{Kind: notation.Mapping}
		entry.Put("builtin", notation.NewText("utils"))
		d.out.Servers = append(d.out.Servers, d.words("utils", entry))
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
		if !d.boolWord(value) { // every tool as it is, then
			d.out.Expose = []string{"transparent"}
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
		d.out.Spill.TOON = d.boolWord(value)
	case "toolcachettl":
		d.cacheWord(value)
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
	list, patterns := &notation.Node{Kind: notation.List}, &notation.Node{Kind: notation.Mapping}
	for g := range strings.SplitSeq(value, ",") {
		if g = strings.TrimSpace(g); g != "" {
			list.Items = append(list.Items, notation.NewText(g))
		}
	}
	patterns.Put("patterns", list)
	return d.mapping(patterns, "").globs("patterns")
}

// mcpWord reads one server or a list of servers.
func (d *decoder) mcpWord(value string) {
	entries, faults := minia.Servers(value)
	d.faults(faults)
	for _, e := range entries {
		d.faults(e.Faults)
		for _, key := range e.Ignored {
			d.ignore(0, key, "it has no meaning here")
		}
		if e.Entry != nil {
			d.out.Servers = append(d.out.Servers, d.words(d.uniqueName(e.Name), e.Entry))
		}
	}
}

func (d *decoder) faults(faults []minia.Fault) {
	for _, f := range faults {
		d.add(0, "%s", f.Msg)
	}
}

func (d *decoder) words(name string, entry *notation.Node) Server {
	return d.server(name, "", notation.Member{Key: name, Value: entry})
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
	c.Spill.TOON = c.Spill.TOON || o.Spill.TOON
	c.Hooks = append(slices.Clone(o.Hooks), c.Hooks...)
	c.Tools.Allow = append(c.Tools.Allow, o.Tools.Allow...)
	c.Tools.Deny = append(c.Tools.Deny, o.Tools.Deny...)
	c.AllowedRoots = append(c.AllowedRoots, o.AllowedRoots...)
	c.Ignored = append(c.Ignored, o.Ignored...)
	c.secrets.AddAll(&o.secrets)
	return nil
}

// cacheWord makes answers of read-only tools good for so many milliseconds; 0 for none.
func (d *decoder) cacheWord(value string) {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || v < 0 || v > float64(maxDuration/time.Millisecond) {
		d.add(0, "must be a number of milliseconds, not %q", value)
		return
	}
	ttl := time.Duration(v * float64(time.Millisecond))
	if ttl == 0 {
		return
	}
	d.out.Hooks = append(d.out.Hooks, Hook{Name: "toolcachettl", Builtin: "cache", TTL: ttl})
	cache := &notation.Node{Kind: notation.Mapping}
	cache.Put("builtin", notation.NewText("cache"))
	cache.Put("ttl", notation.NewText(ttl.String()))
	hooks := &notation.Node{Kind: notation.Mapping}
	hooks.Put("pre_call", cache)
	d.out.written.Put("hooks", hooks)
}
