package clients

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/variable"
)

// ErrUnknown is wrapped when Move is asked for a client it does not know.
var ErrUnknown = errors.New("unknown client")

// ErrTaken is wrapped when the client's file has an entry of our name that uses another
// configuration.
var ErrTaken = errors.New("there is already an entry " + EntryName)

// Move is the moving of a client's servers behind us: what is there, and where we are.
type Move struct {
	Client string // one of Names
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
		return nil, &config.Error{Msg: fmt.Sprintf("%v %q", ErrUnknown, m.Client), Near: config.Nearest(m.Client, Names()), Err: ErrUnknown}
	}
	var file clientFile = &jsonClient{client: c, move: m}
	if notation.Of(m.Path, m.File) == notation.TOML {
		file = &tomlClient{move: m}
	}
	entries, faults := file.read()
	if err := config.ErrorsOf(m.Path, faults); err != nil {
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
	read() ([]entry, []notation.Fault)
	// without returns the file with our entry in the place of those that move.
	without(moving []entry) ([]byte, error)
}

// entry is one server in a client's file.
type entry struct {
	name    string
	comment string // above it, without the notation's marks
	value   *notation.Node
}

// mentions says whether one of an entry's arguments is text.
func mentions(n *notation.Node, text string) bool {
	args := n.Get("args")
	return args != nil && slices.ContainsFunc(args.Items, func(a *notation.Node) bool { return a.Text == text })
}

// keeps says why a server cannot leave its client, empty if it can.
func (c client) keeps(n *notation.Node) string {
	if n.Kind != notation.Mapping {
		return "its entry is " + string(n.Kind)
	}
	if n.Get("envFile") != nil {
		return "it uses envFile"
	}
	why := ""
	each(n, func(text string) {
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
func each(n *notation.Node, visit func(text string)) {
	if n.Kind == notation.Text {
		visit(n.Text)
	}
	for _, m := range n.Members {
		each(m.Value, visit)
	}
	for _, item := range n.Items {
		each(item, visit)
	}
}

// renamed are keys of clients that are called otherwise in our file.
var renamed = map[string]string{"type": "transport", "serverUrl": "url", "httpUrl": "url", "http_headers": "headers"}

// translate writes an entry in our own words.
func (c client) translate(e entry, out *Moved) *notation.Node {
	n := &notation.Node{Kind: notation.Mapping}
	for _, m := range e.value.Members {
		key, value := m.Key, m.Value
		if ours, ok := renamed[key]; ok && e.value.Get(ours) == nil {
			key = ours
		}
		switch {
		case m.Key == "enabled":
			if value.Text == "true" {
				continue
			}
			key, value = "disabled", &notation.Node{Kind: notation.Bool, Text: "true"}
		case m.Key == "type":
			value = notation.NewText(config.Transport(value.Text))
			if value.Text == "" {
				continue
			}
		case !serverKeys[key]:
			out.Dropped = append(out.Dropped, e.name+"."+m.Key)
			continue
		}
		if value.Kind == notation.Null || value.AsksNothing() {
			continue
		}
		if c.literal {
			value = literal(value)
		}
		n.Put(key, value)
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
func literal(n *notation.Node) *notation.Node {
	out := &notation.Node{Kind: n.Kind, Text: n.Text, Line: n.Line}
	if n.Kind == notation.Text {
		out.Text = variable.Escape(n.Text)
	}
	for _, m := range n.Members {
		out.Put(m.Key, literal(m.Value))
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, literal(item))
	}
	return out
}
