package transparent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// owners remembers whose tasks are whose, the newest ones. A connection to a server is shared, so the server can't
// keep agents apart. Face.mu guards it.
type owners struct {
	of    map[string]owner
	order []string
}

type owner struct{ principal, session string }

const maxOwners = 10_000

func (o *owners) add(id string, a dispatch.Agent) {
	if o.of == nil {
		o.of = map[string]owner{}
	}
	if _, known := o.of[id]; known {
		return
	}
	o.of[id] = owner{a.Principal, a.Session}
	if o.order = append(o.order, id); len(o.order) > maxOwners {
		delete(o.of, o.order[0])
		o.order = o.order[1:]
	}
}

// mayUse reports whether a task may be an agent's. Of one that nobody remembers, only those who never prove who they
// are may know.
func (f *Face) mayUse(id string, a dispatch.Agent) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if who, known := f.owners.of[id]; known {
		return who.principal == a.Principal
	}
	return a.Principal == ""
}

// lists reports whether a task stands in an agent's list: its own, and the session's where nobody proves who he is.
func (f *Face) listsTask(id string, a dispatch.Agent) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	who, known := f.owners.of[id]
	return known && who.principal == a.Principal && (a.Principal != "" || who.session == a.Session)
}

// made remembers an agent as the owner of the tasks that its call made, while their ids are rewritten.
func (f *Face) made(a dispatch.Agent, w *rewriter) *rewriter {
	shown := w.task
	w.task = func(own string) string {
		id := shown(own)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.owners.add(id, a)
		return id
	}
	return w
}

// tasksExtension is the name under which tasks are an extension, since 2026-07-28. Before, they were a capability, with
// other methods.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskMethod refuses a method of tasks that an agent's protocol does not have, or that nobody behind us has. An agent
// must have declared the extension to use it.
func (f *Face) taskMethod(r serve.Request) error {
	today := modern(r.Meta)
	has := func(capabilities json.RawMessage) bool {
		if !today {
			return rawjson.Member(capabilities, "tasks") != nil
		}
		return rawjson.Member(rawjson.Member(capabilities, "extensions"), tasksExtension) != nil
	}
	wrong := map[bool]string{false: "tasks/update", true: "tasks/list tasks/result"}
	offered := slices.ContainsFunc(f.o.Dispatcher.Seen(r.Agent).Snapshot.Servers, func(s *catalog.Server) bool { return has(s.Capabilities) })
	switch {
	case !offered || strings.Contains(wrong[today], r.Method):
		return serve.ErrNoMethod
	case today && !has(r.Contact.Capabilities):
		return &serve.Fault{Code: missingCapability, Message: "the agent must declare the extension " + tasksExtension,
			Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`)}
	}
	return nil
}

// ofTask is tasks/get, tasks/result, tasks/cancel and tasks/update.
func (f *Face) ofTask(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	if err := f.taskMethod(r); err != nil {
		return nil, err
	}
	shown, err := text(r.Params, "taskId")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range f.o.Dispatcher.Seen(r.Agent).Snapshot.Servers {
		names = append(names, s.Name)
	}
	server, own, ok := ownTask(shown, names)
	if !ok || !f.mayUse(shown, r.Agent) {
		return nil, wrongParams("Task not found: %s", shown)
	}
	s := task
	if r.Method == "tasks/result" {
		s = toolResult
	}
	return f.passTo(ctx, r, catalog.Ref{Server: server}, reworded(r.Params, "taskId", rawjson.Quote(own)), s)
}

// listTasks is tasks/list: a page of one server's list at a time, without the tasks of others.
func (f *Face) listTasks(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	if err := f.taskMethod(r); err != nil {
		return nil, err
	}
	p, err := readPaging(r.Params)
	if err != nil {
		return nil, err
	}
	at := cursor{List: "tasks"}
	if p.cursor != "" {
		if at, err = readCursor("tasks", p.cursor); err != nil {
			return nil, err
		}
	}
	servers := f.withTasks(r.Agent)
	if at.Offset >= len(servers) {
		return dispatch.Pieces{[]byte(`{"tasks":[]}`)}, nil
	}
	server := servers[at.Offset]
	params := json.RawMessage(`{}`)
	if at.After != "" {
		params = json.RawMessage(`{"cursor":` + string(rawjson.Quote(at.After)) + `}`)
	}
	raw, err := f.o.Dispatcher.Pass(ctx, r.Agent, dispatch.PassRequest{Method: r.Method, Ref: catalog.Ref{Server: server}, Params: params, Meta: onward(r.Meta), Contact: r.Contact})
	if err != nil {
		return nil, err
	}
	at.After = rawjson.Unquote(rawjson.Member(raw, "nextCursor"))
	if at.After == "" {
		at.Offset++
	}
	out := json.RawMessage(`[]`)
	mapped := f.rewriter(r.Agent, server, raw).rewrite(tasks).Raw()
	for t := range rawjson.Elements(rawjson.Member(mapped, "tasks")) {
		if f.listsTask(rawjson.Unquote(rawjson.Member(t, "taskId")), r.Agent) {
			if out = out[:len(out)-1]; len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(out, t...), ']')
		}
	}
	page := withMember(mapped, "tasks", out)
	if at.Offset < len(servers) {
		page = withMember(page, "nextCursor", rawjson.Quote(at.String()))
	}
	return dispatch.Pieces{page}, nil
}

// withTasks are the servers that list their tasks.
func (f *Face) withTasks(a dispatch.Agent) []string {
	var out []string
	for _, s := range f.o.Dispatcher.Seen(a).Snapshot.Servers {
		if rawjson.Member(rawjson.Member(s.Capabilities, "tasks"), "list") != nil {
			out = append(out, s.Name)
		}
	}
	return out
}

// taskSaid passes a task's news on to those who may use it.
func (f *Face) taskSaid(server, method string, params json.RawMessage) {
	id := taskID(server, rawjson.Unquote(rawjson.Member(params, "taskId")))
	for _, p := range f.listening(func(a dispatch.Agent) bool { return f.owns(id, a) }) {
		p.Notify(method, tagged(server, f.rewriter(p.Agent(), server, params).rewrite(task).Raw()))
	}
}

// owns is mayUse with Face.mu held, for one session.
func (f *Face) owns(id string, a dispatch.Agent) bool {
	who, known := f.owners.of[id]
	return known && who.principal == a.Principal && (a.Principal != "" || who.session == "" || who.session == a.Session)
}
