package dispatch

import (
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// Unavailable is a connection that could not be asked, and why.
type Unavailable struct {
	Connection string `json:"connection"`
	Why        string `json:"why"`
}

// stateOf is Forwarder.State, also for what no server stands behind.
func (d *Dispatcher) stateOf(server string) (state, why string) {
	if server == view.Own {
		return "ready", ""
	}
	return d.o.Forwarder.State(server)
}

// state returns a connection's state as one text: `ready`, `failing: why`, …
func (d *Dispatcher) state(server string) string {
	state, why := d.stateOf(server)
	if why == "" {
		return state
	}
	return state + ": " + clip(oneLine(d.o.Redact(why)), 200)
}

// unavailable names the connections whose offers are not known.
func (d *Dispatcher) unavailable(v *view.View, only string) []Unavailable {
	var out []Unavailable
	for _, s := range v.Snapshot.Servers {
		if s.Known || (only != "" && s.Name != only) {
			continue
		}
		why := d.state(s.Name)
		if s.Err != nil && !strings.Contains(why, ":") {
			why += ": " + clip(oneLine(d.o.Redact(s.Err.Error())), 160)
		}
		out = append(out, Unavailable{Connection: s.Name, Why: why})
	}
	return out
}

// unavailableLine says in one line which connections could not be asked; empty when all were.
func unavailableLine(list []Unavailable) string {
	if len(list) == 0 {
		return ""
	}
	var parts []string
	for i, u := range list {
		if i == 5 {
			parts = append(parts, fmt.Sprintf("+%d more", len(list)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", u.Connection, clip(u.Why, 120)))
	}
	return "not asked: " + strings.Join(parts, ", ")
}

func unknownConnection(s *catalog.Snapshot, name string) *Error {
	names := make([]string, len(s.Servers))
	for i, srv := range s.Servers {
		names[i] = srv.Name
	}
	return &Error{Code: NotFound, Message: fmt.Sprintf("there is no connection %q", name),
		Do: "Connections: " + clip(strings.Join(names, ", "), 200), Suggestions: arguments.Nearest(name, names, 3)}
}
