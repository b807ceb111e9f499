package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// resolve finds the entry a name means. A name nobody known has is looked for, up to wait, at the
// connections that have not been heard of yet: at the one the agent named, or at all.
func (d *Dispatcher) resolve(ctx context.Context, a Agent, kind catalog.Kind, name, connection string, wait time.Duration) (*catalog.Entry, *view.View, error) {
	server := ""
	if connection != "" {
		srv, err := d.server(a, connection)
		if err != nil {
			return nil, nil, err
		}
		server = srv.Name
	}
	v := d.Seen(a)
	e, err := find(v, kind, name, server)
	if errors.Is(err, view.ErrUnknown) {
		wctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		v, e, err = d.lookAgain(wctx, a, v, kind, name, server)
	}
	if err != nil {
		return nil, v, d.unresolved(v, kind, name, server, err)
	}
	return e, v, nil
}

// lookAgain asks the connections that nobody has heard of for a name: the one that the agent named,
// even if it has failed before, or all that are still starting, until the name is found.
func (d *Dispatcher) lookAgain(ctx context.Context, a Agent, v *view.View, kind catalog.Kind, name, server string) (*view.View, *catalog.Entry, error) {
	if server == "" {
		server = v.Connection(name)
	}
	if srv := v.Snapshot.Server(server); server != "" && srv != nil {
		if !srv.Known {
			if err := d.o.Catalog.Refresh(ctx, srv.Name); err != nil {
				d.o.Log.Debug("refresh", "server", srv.Name, "error", err) // stands in the snapshot
			}
			v = d.Seen(a)
		}
		e, err := find(v, kind, name, srv.Name)
		return v, e, err
	}
	for {
		e, err := find(v, kind, name, "")
		if err == nil || ctx.Err() != nil || !errors.Is(err, view.ErrUnknown) || !d.anyStarting(v) {
			return v, e, err
		}
		pause, cancel := context.WithTimeout(ctx, lookAgainAfter)
		d.o.Catalog.Wait(pause)
		settled := pause.Err() == nil
		cancel()
		if v = d.Seen(a); settled {
			e, err = find(v, kind, name, "")
			return v, e, err
		}
	}
}

// anyStarting reports whether a connection has neither been heard of nor failed.
func (d *Dispatcher) anyStarting(v *view.View) bool {
	for _, s := range v.Snapshot.Servers {
		if state, _ := d.stateOf(s.Name); !s.Known && s.Err == nil && state != "disabled" {
			return true
		}
	}
	return false
}

// find resolves a name in a view; a resource may also be one that a template describes.
func find(v *view.View, kind catalog.Kind, name, server string) (*catalog.Entry, error) {
	e, err := v.Resolve(kind, name, server)
	if err == nil || kind != catalog.Resource || !errors.Is(err, view.ErrUnknown) {
		return e, err
	}
	for _, t := range v.Entries(server, catalog.Resource) {
		if t.Template && matchesTemplate(t.Name, name) {
			return t, nil
		}
	}
	return nil, err
}

// unlisted stands for a resource that is in no list: servers hand out URIs beside their lists, so
// where the agent names the connection, the server has the last word.
func unlisted(v *view.View, r CallRequest, err error) (*catalog.Entry, error) {
	if r.Type != catalog.Resource || r.Connection == "" || !errors.Is(err, view.ErrUnknown) {
		return nil, err
	}
	srv := v.Snapshot.Server(r.Connection)
	if !v.Open(srv.Name, r.Tool) {
		return nil, err
	}
	return &catalog.Entry{Ref: catalog.Ref{Server: srv.Name, Kind: catalog.Resource, Name: r.Tool}}, nil
}

// cutConnection splits `connection/uri`; ok is false where the part before the slash is no connection.
func (d *Dispatcher) cutConnection(a Agent, name string) (connection, uri string, ok bool) {
	before, after, found := strings.Cut(name, "/")
	if !found || after == "" || d.Seen(a).Snapshot.Server(before) == nil {
		return "", "", false
	}
	return before, after, true
}

// unresolved turns a failure to resolve into words an agent can act on.
func (d *Dispatcher) unresolved(v *view.View, kind catalog.Kind, name, server string, err error) error {
	if amb, ok := errors.AsType[*view.AmbiguousError](err); ok {
		var full []string
		for _, r := range amb.Refs {
			full = append(full, r.String())
		}
		return &Error{Code: AmbiguousTool, Message: fmt.Sprintf("%q is offered by several connections", name),
			Do: "Name one: " + clip(strings.Join(full, ", "), 400), Suggestions: full, Err: err}
	}
	if errors.Is(err, view.ErrWithheld) {
		return &Error{Code: Denied, Message: fmt.Sprintf("%s %q is not what it was when it was trusted", kind, name),
			Do: "Ask the person to look at it with `proxy-dispatch trust diff`, or use another", Err: err}
	}
	if errors.Is(err, view.ErrDenied) {
		return &Error{Code: Denied, Message: fmt.Sprintf("%s %q exists, but the configuration keeps it out", kind, name),
			Do: "Ask the person who runs proxy-dispatch to allow it, or use another", Err: err}
	}
	if server == "" {
		server = v.Connection(name)
	}
	if down := d.unavailable(v, server); len(down) > 0 && (server != "" || len(down) == len(v.Snapshot.Servers)) {
		return d.unavailableError(down[0])
	}
	e := &Error{Code: UnknownTool, Message: fmt.Sprintf("there is no %s %q", kind, name), Err: err,
		Suggestions: nearestNames(v, kind, name, server), Do: "Use search to find one"}
	if len(e.Suggestions) > 0 {
		e.Do = "Nearest: " + strings.Join(e.Suggestions, ", ") + ". Or use search"
	}
	if line := unavailableLine(d.unavailable(v, "")); line != "" {
		e.Do = sentence(e.Do) + " " + line
	}
	return e
}

// unavailableError is the failure to reach a connection whose offers are not known.
func (d *Dispatcher) unavailableError(u Unavailable) error {
	e := &Error{Code: ServerUnavailable, Message: fmt.Sprintf("connection %q can't be used now (%s)", u.Connection, u.Why)}
	switch state, _ := d.stateOf(u.Connection); state {
	case "needs login":
		e.login = u.Connection
		e.Code, e.Do = AuthRequired, fmt.Sprintf("Ask the person to run: proxy-dispatch login %s", u.Connection)
	case "disabled":
		e.Do = "It is switched off in the configuration"
	case "starting", "asleep", "ready":
		e.Retryable = true
	}
	return e
}

// nearestNames returns the full names of the entries whose own names are nearest.
func nearestNames(v *view.View, kind catalog.Kind, name, server string) []string {
	if at := strings.LastIndexAny(name, "/:"); server != "" && at >= 0 && kind != catalog.Resource {
		name = name[at+1:]
	}
	var out []string
	for _, n := range arguments.Nearest(name, v.Names(server, kind), 3) {
		if e, err := v.Resolve(kind, n, server); err == nil {
			out = append(out, e.Ref.String())
		} else if amb, ok := errors.AsType[*view.AmbiguousError](err); ok {
			out = append(out, amb.Refs[0].String())
		}
	}
	return out
}
