package everything

import (
	"encoding/json"
	"slices"
	"sync"
)

// filter is what a listener wants to hear.
type filter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
	TaskIDs               []string `json:"taskIds,omitempty"`
}

// listener is one subscriptions/listen request while it is open.
type listener struct {
	id    json.RawMessage
	wants filter
	out   sink
	once  sync.Once
	gone  chan struct{}
}

// listen opens a listener; close ends it. The first thing it hears is that it is heard.
func (s *state) listen(id json.RawMessage, wants filter, out sink) (l *listener, closed func()) {
	l = &listener{id: id, wants: wants, out: out, gone: make(chan struct{})}
	granted, _ := json.Marshal(wants)
	l.hear("notifications/subscriptions/acknowledged", `{"notifications":`+string(granted)+`}`)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[l] = true
	return l, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, l)
		l.once.Do(func() { close(l.gone) })
	}
}

// hear sends a notification with the listener's id in its _meta.
func (l *listener) hear(method, params string) {
	tag := `{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(l.id) + `}`
	if params != `{}` {
		tag += "," + params[1:]
	} else {
		tag += "}"
	}
	l.out.send(notification(method, tag))
}

// changed tells everybody who wants to know; older agents hear of every list.
func (s *state) changed(method string, wants func(filter) bool) {
	sessions, listeners := s.everybody()
	for _, v := range sessions {
		v.alone.send([]byte(`{"jsonrpc":"2.0","method":"` + method + `"}`))
	}
	for _, l := range listeners {
		if wants(l.wants) {
			l.hear(method, `{}`)
		}
	}
}

// updated tells of a changed resource to those who watch it.
func (s *state) updated(uri string) {
	sessions, listeners := s.everybody()
	params := `{"uri":` + quote(uri) + `}`
	for _, v := range sessions {
		if v.watches(uri) {
			v.alone.send(notification("notifications/resources/updated", params))
		}
	}
	for _, l := range listeners {
		if slices.Contains(l.wants.ResourceSubscriptions, uri) {
			l.hear("notifications/resources/updated", params)
		}
	}
}

// taskChanged tells of a task's new status to those who asked for it.
func (s *state) taskChanged(id, raw string) {
	_, listeners := s.everybody()
	for _, l := range listeners {
		if slices.Contains(l.wants.TaskIDs, id) {
			l.hear("notifications/tasks", raw)
		}
	}
}

func (s *state) everybody() (sessions []*session, listeners []*listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.sessions {
		v.mu.Lock()
		if v.ready {
			sessions = append(sessions, v)
		}
		v.mu.Unlock()
	}
	for l := range s.listeners {
		listeners = append(listeners, l)
	}
	return sessions, listeners
}
