package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/script"
)

// Hook is one hook: what it runs, and the calls it is run for. Exactly one of Module, Command, URL and Builtin is set.
type Hook struct {
	Name   string // where it stands in the file
	Line   int
	After  bool     // on results, else on calls
	Views  []string // globs of the views it is for; nil = every call
	Module string   // file, absolute
	Export string   // of the module

	Command []string
	Pool    bool // the command is kept and answers line by line
	URL     string
	Headers map[string]string
	Builtin string // redact, set, default, rate_limit, require_auth, audit, cache

	Timeout time.Duration // 0 = the default
	Servers []string      // globs; nil = all
	Tools   []string      // globs of NAME and SERVER/NAME; nil = all

	Patterns, Keys []string        // redact: RE2, globs of key names; cache: Keys are the arguments that count
	With           string          // redact: in the place of what was found
	Args           json.RawMessage // set, default: an object
	Calls          int             // rate_limit
	Per            time.Duration   // rate_limit
	By             string          // rate_limit: principal (default), session, tool, all
	Principals     []string        // require_auth: globs; nil = everybody who is not anonymous
	File           string          // audit; "" = the log
	TTL            time.Duration   // cache
	Entries        int             // cache; 0 = the default
	Bytes          int64           // cache; 0 = the default
	Shared         bool            // cache: principals share answers

	level int // how much of the file it is for: all, a server, a view, a tool
}

// Custom is a tool that a module exports.
type Custom struct {
	View   string // "" = for agents without a view
	File   string // absolute
	Export string
	Line   int
}

// Builtins are the hooks that need no code.
var Builtins = []string{"redact", "set", "default", "rate_limit", "require_auth", "audit", "cache"}

// hooks reads the key hooks of a part of the file; to says for which calls they are.
func (d *decoder) hooks(f *fields, to Hook) {
	_, n := f.take("hooks")
	if n == nil || n.AsksNothing() {
		return
	}
	h := d.mapping(n, f.where+"hooks.")
	for _, phase := range []struct {
		keys  []string
		after bool
	}{{[]string{"pre_call", "preCall"}, false}, {[]string{"post_call", "postCall"}, true}} {
		key, v := h.take(phase.keys...)
		if v == nil {
			continue
		}
		items := []*notation.Node{v}
		if v.Kind == notation.List {
			items = v.Items
		}
		for _, item := range items {
			one := to
			one.Name, one.Line, one.After = h.where+key, item.Line, phase.after
			if d.hook(item, &one) {
				d.out.Hooks = append(d.out.Hooks, one)
			}
		}
	}
	h.done()
}

// The levels of hooks.
const (
	everywhere = iota
	ofServer
	ofView
	ofTool
)

// orderHooks puts the hooks in the order they run: on calls from the outside in, on results from the inside out.
func (d *decoder) orderHooks() {
	slices.SortStableFunc(d.out.Hooks, func(a, b Hook) int {
		switch {
		case a.After != b.After && a.After:
			return 1
		case a.After != b.After:
			return -1
		case a.After:
			return b.level - a.level
		}
		return a.level - b.level
	})
}

// hook reads one hook: a text that names an export or a built-in one, or a mapping.
func (d *decoder) hook(n *notation.Node, h *Hook) bool {
	if n.Kind == notation.Text {
		if slices.Contains(Builtins, n.Text) {
			h.Builtin = n.Text
			return d.complete(n, h)
		}
		h.Module, h.Export = d.export(n, h.Name, n.Text)
		return h.Module != ""
	}
	f := d.mapping(n, h.Name+".")
	if f.node == nil {
		return false
	}
	if m := f.text("script", "module"); m != "" {
		_, at := f.take("script", "module")
		h.Module, h.Export = d.export(at, h.Name, m)
	}
	h.Command, h.Pool = f.texts("command"), f.enum("mode", "once", "pool") == "pool"
	h.URL, h.Headers = f.text("url"), f.headers()
	h.Builtin = f.enum("builtin", Builtins...)
	h.Timeout = f.duration("timeout")
	if servers := f.globs("servers", "server"); servers != nil {
		h.Servers = servers
	}
	if tools := f.globs("tools", "tool"); tools != nil {
		h.Tools = tools
	}
	d.builtin(f, h)
	f.done()
	return d.complete(n, h)
}

// builtin reads what only built-in hooks take.
func (d *decoder) builtin(f *fields, h *Hook) {
	switch h.Builtin {
	case "redact":
		h.Keys, h.With = f.globs("keys"), f.text("with")
		f.verbatim(func() { h.Patterns = f.texts("patterns") })
		for _, p := range h.Patterns {
			if _, err := regexp.Compile(p); err != nil {
				d.add(f.node.Line, "%spatterns: %v", f.where, err)
			}
		}
	case "set", "default":
		h.Args = f.value("args")
	case "rate_limit":
		h.Calls, h.Per = int(f.count("calls", 1, 1<<31-1)), f.duration("per")
		h.By = f.enum("by", "principal", "session", "tool", "all")
	case "require_auth":
		h.Principals = f.globs("principals")
	case "audit":
		h.File = f.path("file")
	case "cache":
		h.TTL, h.Keys = f.duration("ttl"), f.texts("keys")
		h.Entries, h.Bytes, h.Shared = int(f.count("entries", 1, 1<<31-1)), f.count("bytes", 1, 1<<40), f.bool("shared")
	}
}

// complete reports what a hook lacks.
func (d *decoder) complete(n *notation.Node, h *Hook) bool {
	kinds := 0
	for _, there := range []bool{h.Module != "", len(h.Command) > 0, h.URL != "", h.Builtin != ""} {
		if there {
			kinds++
		}
	}
	before := len(d.list)
	switch {
	case kinds == 0 && before == 0 || kinds > 1:
		d.add(n.Line, "%s: a hook is one of script, command, url and builtin", h.Name)
	case h.Pool && len(h.Command) == 0:
		d.add(n.Line, "%s: mode is for a command", h.Name)
	case h.Builtin == "redact" && len(h.Patterns)+len(h.Keys) == 0:
		d.add(n.Line, "%s: redact needs patterns or keys", h.Name)
	case (h.Builtin == "set" || h.Builtin == "default") && (len(h.Args) == 0 || h.Args[0] != '{'):
		d.add(n.Line, "%s: %s needs args, a mapping", h.Name, h.Builtin)
	case h.Builtin == "rate_limit" && h.Calls == 0:
		d.add(n.Line, "%s: rate_limit needs calls", h.Name)
	case h.Builtin == "cache" && h.TTL == 0:
		d.add(n.Line, "%s: cache needs ttl", h.Name)
	case h.After && h.Builtin != "" && h.Builtin != "redact" && h.Builtin != "audit":
		d.add(n.Line, "%s: %s is for pre_call", h.Name, h.Builtin)
	}
	if u, err := url.Parse(h.URL); h.URL != "" && !d.lost && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		d.add(n.Line, "%s: url must be of http or https", h.Name)
	}
	for _, v := range h.Headers {
		d.out.secrets.Add(v)
	}
	d.out.secrets.AddText(h.URL)
	d.out.secrets.AddArguments(h.Command)
	return kinds == 1 && len(d.list) == before
}

// export finds the file of FILE.js#EXPORT or a dotted path, in the configuration's folder.
func (d *decoder) export(n *notation.Node, where, ref string) (file, export string) {
	file, export, err := script.Split(ref)
	if err != nil {
		d.near(n.Line, ref, Builtins, "%s: %q names no export: write FILE.js#EXPORT", where, ref)
		return "", ""
	}
	found := d.absolute(filepath.FromSlash(file))
	if _, err := os.Stat(found); errors.Is(err, fs.ErrNotExist) {
		d.add(n.Line, "%s: there is no file %s in the folder of the configuration", where, file)
		return "", ""
	}
	return found, export
}

// custom reads custom tools: a list of {module}, or of their names.
func (d *decoder) custom(f *fields, view string) {
	key, n := f.take("custom_tools", "customTools")
	if n == nil {
		return
	}
	items := n.Items
	if n.Kind != notation.List {
		d.add(n.Line, "%s%s must be a list of {module: FILE.js#EXPORT}, not %s", f.where, key, n.Kind)
	}
	for _, item := range items {
		ref := ""
		if item.Kind == notation.Mapping {
			one := d.mapping(item, f.where+key+".")
			ref = one.text("module")
			one.done()
		} else {
			ref = d.scalar(item, f.where+key)
		}
		if file, export := d.export(item, f.where+key, ref); file != "" {
			d.out.Custom = append(d.out.Custom, Custom{View: view, File: file, Export: export, Line: item.Line})
		}
	}
}
