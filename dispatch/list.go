package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// ListRequest asks what there is.
type ListRequest struct {
	Type       catalog.Kind
	Connection string
	Query      string // only names and descriptions that hold it
	Limit      int    // entries over all connections; 0 means 100
	Offset     int
	Refresh    bool
	// NamesOnly leaves the entries out: connections and their states.
	NamesOnly   bool
	Schemas     bool // add input schemas
	Annotations bool // add annotations
}

// ListAnswer is what there is, by connection.
type ListAnswer struct {
	Action           string       `json:"action"`
	TotalConnections int          `json:"totalConnections"`
	Connections      []Connection `json:"connections"`
	NextOffset       *int         `json:"nextOffset,omitempty"`
	Repairs          []string     `json:"repairs,omitempty"`

	offset, total int
}

// Connection is one server as an agent sees it.
type Connection struct {
	Connection  string          `json:"connection"`
	Alias       string          `json:"alias"`
	ID          string          `json:"id"`
	State       string          `json:"state"`
	Error       string          `json:"error,omitempty"`
	ServerInfo  json.RawMessage `json:"serverInfo,omitempty"`
	LastRefresh *time.Time      `json:"lastRefresh,omitempty"`
	ToolCount   int             `json:"toolCount"`
	Tools       []Listed        `json:"tools,omitzero"`
	Resources   []Listed        `json:"resources,omitzero"`
	Prompts     []Listed        `json:"prompts,omitzero"`
}

// Listed is one entry of a list.
type Listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`

	entry *catalog.Entry
}

const defaultListed = 100

func listRequest(r *request) ListRequest {
	return ListRequest{Type: kindOf(r.Type), Connection: r.Connection, Query: r.Query, Limit: limitOf(r, defaultListed), Offset: int(r.Offset),
		Refresh: r.Refresh, NamesOnly: r.IncludeTools != nil && !*r.IncludeTools, Schemas: r.IncludeInputSchema || r.Format == "detail",
		Annotations: r.IncludeAnnotations != nil && *r.IncludeAnnotations || r.Format == "detail"}
}

// List returns what is seen, by connection in configuration order. It never waits longer than two
// seconds for servers.
func (d *Dispatcher) List(ctx context.Context, agent Agent, q ListRequest) (*ListAnswer, error) {
	v, err := d.fresh(ctx, agent, q.Refresh, q.Connection)
	if err != nil {
		return nil, err
	}
	a := &ListAnswer{Action: "list", TotalConnections: len(v.Snapshot.Servers), Connections: []Connection{}, offset: max(q.Offset, 0)}
	left := limitOr(q.Limit, defaultListed)
	for _, s := range v.Snapshot.Servers {
		if q.Connection != "" && v.Snapshot.Server(q.Connection) != s {
			continue
		}
		c := d.connection(v, s)
		if !q.NamesOnly {
			entries := matching(v.Entries(s.Name, kindOf(string(q.Type))), q.Query)
			from := max(q.Offset-a.total, 0)
			a.total += len(entries)
			shown := page(entries, from, left)
			left -= len(shown)
			c.put(kindOf(string(q.Type)), listed(shown, q))
		}
		a.Connections = append(a.Connections, c)
	}
	a.mark()
	return a, nil
}

// connection tells what is known of a server, without its entries.
func (d *Dispatcher) connection(v *view.View, s *catalog.Server) Connection {
	state, why := d.stateOf(s.Name)
	c := Connection{Connection: s.Name, Alias: s.Alias, ID: s.ID, State: state, Error: clip(oneLine(d.o.Redact(why)), 300),
		ServerInfo: s.Info, ToolCount: len(v.Entries(s.Name, catalog.Tool))}
	if c.Error == "" && s.Err != nil {
		c.Error = clip(oneLine(d.o.Redact(s.Err.Error())), 300)
	}
	if !s.Refreshed.IsZero() {
		c.LastRefresh = &s.Refreshed
	}
	return c
}

func matching(entries []*catalog.Entry, query string) []*catalog.Entry {
	query = strings.ToLower(strings.TrimSpace(query))
	if query == "" {
		return entries
	}
	var out []*catalog.Entry
	for _, e := range entries {
		if strings.Contains(strings.ToLower(e.Name+"\n"+e.Title+"\n"+e.Description), query) {
			out = append(out, e)
		}
	}
	return out
}

func listed(entries []*catalog.Entry, q ListRequest) []Listed {
	out := make([]Listed, len(entries))
	for i, e := range entries {
		out[i] = Listed{Name: catalog.Clean(e.Name), Description: firstSentence(e.Description), entry: e}
		if q.Schemas {
			out[i].InputSchema, out[i].Description = catalog.Visible(e.InputSchema), e.Description
		}
		if q.Annotations {
			out[i].Annotations = catalog.Visible(e.Annotations)
		}
	}
	return out
}

func (c *Connection) put(kind catalog.Kind, l []Listed) {
	switch kind {
	case catalog.Resource:
		c.Resources = l
	case catalog.Prompt:
		c.Prompts = l
	default:
		c.Tools = l
	}
}

func (c *Connection) entries() []Listed {
	return append(append(append([]Listed(nil), c.Tools...), c.Resources...), c.Prompts...)
}

// shown returns how many entries the answer holds.
func (a *ListAnswer) shown() int {
	n := 0
	for i := range a.Connections {
		n += len(a.Connections[i].entries())
	}
	return n
}

// mark says where the next page starts, if there is one.
func (a *ListAnswer) mark() {
	a.NextOffset = nil
	if next := a.offset + a.shown(); next < a.total {
		a.NextOffset = &next
	}
}

// dropLast takes n entries from the end of the page; it reports whether one is left to take.
func (a *ListAnswer) dropLast(n int) bool {
	for i := len(a.Connections) - 1; i >= 0 && n > 0; i-- {
		c := &a.Connections[i]
		for _, l := range []*[]Listed{&c.Prompts, &c.Resources, &c.Tools} {
			take := min(n, len(*l))
			*l = (*l)[:len(*l)-take]
			n -= take
		}
	}
	a.mark()
	return a.shown() > 0
}

func (a *ListAnswer) render(r *request, budget int) json.RawMessage {
	if !r.wantsJSON() {
		return textResult(withRepairs(r.notes, a.text(budget)))
	}
	a.Repairs = r.notes
	for {
		out := jsonResult(a, false)
		n := a.shown()
		if len(out) <= budget || n <= 1 {
			return out
		}
		a.dropLast(max(n-n*budget/len(out), 1))
	}
}

// Text returns the answer as lines for a model; budget is in bytes.
func (a *ListAnswer) Text(budget int) string { return a.text(budget) }

func (a *ListAnswer) text(budget int) string {
	for level := 0; ; level++ {
		text := a.lines(min(level, 3))
		if len(text) <= budget || (level >= 3 && a.shown() <= 1) {
			return text
		}
		if level >= 3 {
			n := a.shown()
			a.dropLast(max(n-n*budget/len(text), 1))
		}
	}
}

// lines renders the list; the higher the level, the fewer the details.
func (a *ListAnswer) lines(level int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d connections", a.TotalConnections)
	for _, c := range a.Connections {
		state := c.State
		if c.Error != "" {
			state += ": " + clip(c.Error, 160)
		}
		fmt.Fprintf(&b, "\n%s (%s) [%s] %d tools", c.Connection, c.Alias, state, c.ToolCount)
		for _, l := range c.entries() {
			b.WriteString("\n  " + l.line(level))
		}
	}
	if a.NextOffset != nil {
		fmt.Fprintf(&b, "\n%d of %d shown; next: offset %d", a.shown(), a.total, *a.NextOffset)
	}
	return b.String()
}

func (l Listed) line(level int) string {
	if l.InputSchema != nil && level == 0 {
		return l.Name + " — " + clip(oneLine(l.Description), 400) + "\n    " + oneLine(string(l.InputSchema))
	}
	f := Found{Tool: l.Name, Type: l.entry.Kind, Description: firstSentence(l.Description), entry: l.entry}
	return strings.TrimPrefix(f.line(level+1), "/")
}
