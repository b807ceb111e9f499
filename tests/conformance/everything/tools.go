package everything

// tool is one entry of tools/list and what it does; a mode other than "" makes it a task where the agent knows tasks.
type tool struct {
	name, description, schema string
	task                      taskMode
	run                       func(*exchange) (string, error)
}

type taskMode int

const (
	noTask       taskMode = iota
	optionalTask          // runs to its end where the agent knows no tasks
	requiredTask          // is refused there
)

const noArguments = `{"type":"object","properties":{}}`

// headerTool has an argument that is repeated in a header.
const headerTool = "test_header_parameter"

func (t tool) entry() string {
	execution := ""
	if t.task == optionalTask {
		execution = `,"execution":{"taskSupport":"optional"}`
	}
	if t.task == requiredTask {
		execution = `,"execution":{"taskSupport":"required"}`
	}
	schema := t.schema
	if schema == "" {
		schema = noArguments
	}
	return `{"name":` + quote(t.name) + `,"description":` + quote(t.description) + `,"inputSchema":` + schema + execution + `}`
}

// dynamicTool comes and goes when test_trigger_tool_change is called.
var dynamicTool = tool{name: "test_dynamic_tool", description: "Comes and goes.", run: fixed(text("still here"))}

func (s *state) toolEntries() []string {
	var list []string
	for _, t := range allTools() {
		list = append(list, t.entry())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools {
		list = append(list, dynamicTool.entry())
	}
	return list
}

func allTools() []tool {
	var list []tool
	for _, some := range [][]tool{contentTools, askTools, inputTools, taskTools, relayTools} {
		list = append(list, some...)
	}
	return list
}

func (s *state) tool(name string) (tool, bool) {
	for _, t := range allTools() {
		if t.name == name {
			return t, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return dynamicTool, s.tools && name == dynamicTool.name
}

func (x *exchange) callTool() (string, error) {
	t, ok := x.s.tool(x.p.Name)
	if !ok {
		return "", invalid("unknown tool %q", x.p.Name)
	}
	if t.task == noTask {
		return t.run(x)
	}
	return x.callTask(t)
}

func fixed(raw string) func(*exchange) (string, error) {
	return func(*exchange) (string, error) { return raw, nil }
}

func content(blocks string) string { return `{"content":[` + blocks + `]}` }

func text(s string) string { return content(textBlock(s)) }

func failed(s string) string { return `{"content":[` + textBlock(s) + `],"isError":true}` }

const (
	pixel      = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	imageBlock = `{"type":"image","data":"` + pixel + `","mimeType":"image/png"}`
	audioBlock = `{"type":"audio","data":"UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=","mimeType":"audio/wav"}`
)
