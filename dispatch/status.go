package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// StatusRequest asks how things stand.
type StatusRequest struct {
	Refresh bool // ask the servers again first
}

// StatusAnswer is how things stand.
type StatusAnswer struct {
	Action           string             `json:"action"`
	TotalConnections int                `json:"totalConnections"`
	TotalTools       int                `json:"totalTools"`
	CatalogHash      string             `json:"catalogHash"`
	Connections      []ConnectionStatus `json:"connections"`
	Spill            SpillStatus        `json:"spill"`
	Tokens           TokenStatus        `json:"tokens"`
	Repairs          []string           `json:"repairs,omitempty"`
}

// ConnectionStatus is how one connection stands.
type ConnectionStatus struct {
	Connection string `json:"connection"`
	Alias      string `json:"alias"`
	ID         string `json:"id"`
	State      string `json:"state"`
	Error      string `json:"error,omitempty"`
	ToolCount  int    `json:"toolCount"`
}

// SpillStatus is what the store of spilled results holds.
type SpillStatus struct {
	Files      int   `json:"files"`
	Bytes      int64 `json:"bytes"`
	QuotaBytes int64 `json:"quotaBytes"`
}

// TokenStatus compares what an agent pays for the one tool with what all tools would cost it.
type TokenStatus struct {
	Definition        int `json:"definition"`
	NativeDefinitions int `json:"nativeDefinitions"`
	Saved             int `json:"saved"`
}

// Status tells how things stand. Without Refresh it waits for nothing.
func (d *Dispatcher) Status(ctx context.Context, agent Agent, q StatusRequest) (*StatusAnswer, error) {
	if q.Refresh {
		d.refresh(ctx, agent, "")
	}
	v := d.Seen(agent)
	a := &StatusAnswer{Action: "status", TotalConnections: len(v.Snapshot.Servers), CatalogHash: v.Snapshot.Hash,
		TotalTools: len(v.Entries("", catalog.Tool)), Connections: []ConnectionStatus{}}
	for _, s := range v.Snapshot.Servers {
		c := d.connection(v, s)
		a.Connections = append(a.Connections, ConnectionStatus{Connection: c.Connection, Alias: c.Alias, ID: c.ID, State: c.State, Error: c.Error, ToolCount: c.ToolCount})
	}
	stats := d.o.Shelf.Stats()
	a.Spill = SpillStatus{Files: stats.Files, Bytes: stats.Bytes, QuotaBytes: stats.QuotaBytes}
	a.Tokens = d.tokenStatus(d.lens(agent), v)
	return a, nil
}

// nativeTokens remembers, for one view, what its tools would cost an agent that saw them all.
type nativeTokens struct {
	view *view.View
	n    int
}

func (d *Dispatcher) tokenStatus(l *lens, v *view.View) TokenStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.native.view != v {
		l.native = nativeTokens{view: v}
		var all strings.Builder
		for _, e := range v.Entries("", catalog.Tool) {
			all.Write(e.Raw)
		}
		l.native.n = d.o.Tokens.Count(all.String())
	}
	t := TokenStatus{Definition: d.o.Tokens.Count(string(l.definition)), NativeDefinitions: l.native.n}
	t.Saved = max(t.NativeDefinitions-t.Definition, 0)
	return t
}

func (a *StatusAnswer) render(r *request, _ int) json.RawMessage {
	if r.wantsJSON() {
		a.Repairs = r.notes
		return jsonResult(a, false)
	}
	return textResult(withRepairs(r.notes, a.Text()))
}

// Text returns the answer in at most about 150 tokens.
func (a *StatusAnswer) Text() string {
	states := map[string]int{}
	var order, wrong []string
	for _, c := range a.Connections {
		if states[c.State]++; states[c.State] == 1 {
			order = append(order, c.State)
		}
		if c.State == "failing" || c.State == "needs login" {
			wrong = append(wrong, c.Connection+" ("+clip(c.State+": "+c.Error, 60)+")")
		}
	}
	for i, s := range order {
		order[i] = fmt.Sprintf("%d %s", states[s], s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d connections (%s), %d tools, catalog %s", a.TotalConnections, strings.Join(order, ", "), a.TotalTools, clip(a.CatalogHash, 12))
	if len(wrong) > 3 {
		wrong = append(wrong[:3:3], fmt.Sprintf("+%d more", len(wrong)-3))
	}
	if len(wrong) > 0 {
		b.WriteString("\nnot usable: " + strings.Join(wrong, ", "))
	}
	fmt.Fprintf(&b, "\nspilled: %d files, %d of %d bytes", a.Spill.Files, a.Spill.Bytes, a.Spill.QuotaBytes)
	fmt.Fprintf(&b, "\ntokens: definition ~%d, all tools ~%d, saved ~%d", a.Tokens.Definition, a.Tokens.NativeDefinitions, a.Tokens.Saved)
	return b.String()
}
