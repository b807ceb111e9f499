package everything

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// modern answers one request of the era without sessions: with a JSON body, or with events once there is something to say before the result.
func (w *web) modern(rw http.ResponseWriter, r *http.Request, m message, p params) {
	if !m.request() {
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	f := w.s.unfit(p)
	if f == nil || f.code == -32022 {
		if g := w.s.headerMismatch(r.Header, m, p); g != nil {
			f = g
		}
	}
	if f != nil {
		reply(rw, max(f.status, 200), failure(m.ID, f))
		return
	}
	out := &lateEvents{rw: rw}
	if m.Method == "subscriptions/listen" {
		_, closed := w.s.listen(m.ID, p.Notifications, out)
		defer closed()
		select {
		case <-r.Context().Done():
		case <-w.ctx.Done():
		}
		return
	}
	x := &exchange{ctx: r.Context(), s: w.s, id: m.ID, method: m.Method, p: p, out: out, hangUp: func() {}}
	line, status := x.answer()
	out.finish(status, line)
}

// lateEvents turns an answer into a stream of events when the first message comes before the last.
type lateEvents struct {
	mu   sync.Mutex
	rw   http.ResponseWriter
	open bool
}

func (l *lateEvents) send(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		l.rw.Header().Set("Content-Type", "text/event-stream")
		l.rw.Header().Set("Cache-Control", "no-cache")
		l.open = true
	}
	_, _ = fmt.Fprintf(l.rw, "event: message\ndata: %s\n\n", line)
	_ = http.NewResponseController(l.rw).Flush()
}

func (l *lateEvents) finish(status int, line []byte) {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	if open {
		l.send(line)
		return
	}
	reply(l.rw, status, line)
}

func mismatch(format string, args ...any) *fault {
	return &fault{code: -32020, message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// headerMismatch compares the headers that repeat the body with the body.
func (s *state) headerMismatch(h http.Header, m message, p params) *fault {
	if v := h.Get("Mcp-Protocol-Version"); v != p.Meta.Version {
		return mismatch("Mcp-Protocol-Version %q does not match %q", v, p.Meta.Version)
	}
	if v := h.Get("Mcp-Method"); v != m.Method {
		return mismatch("Mcp-Method %q does not match %q", v, m.Method)
	}
	name := ""
	switch m.Method {
	case "tools/call", "prompts/get":
		name = p.Name
	case "resources/read":
		name = p.URI
	case "tasks/get", "tasks/update", "tasks/cancel":
		name = p.TaskID
	}
	if v, ok := decodeHeader(h.Get("Mcp-Name")); name != "" && (!ok || v != name) {
		return mismatch("Mcp-Name %q does not match %q", v, name)
	}
	if m.Method == "tools/call" && p.Name == headerTool {
		return headerParam(h, p)
	}
	return nil
}

// headerParam compares the header of the tool that has one with its argument.
func headerParam(h http.Header, p params) *fault {
	var args map[string]json.RawMessage
	_ = json.Unmarshal(orEmpty(p.Arguments), &args)
	var want *string
	_ = json.Unmarshal(orNull(args["region"]), &want)
	values := h.Values("Mcp-Param-Region")
	if want == nil {
		if len(values) > 0 {
			return mismatch("Mcp-Param-Region has no argument")
		}
		return nil
	}
	got, ok := decodeHeader(h.Get("Mcp-Param-Region"))
	if len(values) != 1 || !ok || got != *want {
		return mismatch("Mcp-Param-Region does not match the argument")
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// decodeHeader undoes `=?base64?…?=`; every other value is meant literally.
func decodeHeader(v string) (string, bool) {
	rest, ok := strings.CutPrefix(v, "=?base64?")
	if !ok || !strings.HasSuffix(rest, "?=") {
		return v, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(rest, "?="))
	return string(b), err == nil
}
