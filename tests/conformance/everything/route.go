package everything

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// route runs the method of a request.
func (x *exchange) route() (string, error) {
	switch x.method {
	case "tools/list":
		return x.page("tools", x.s.toolEntries())
	case "tools/call":
		return x.callTool()
	case "prompts/list":
		return x.page("prompts", x.s.promptEntries())
	case "prompts/get":
		return x.getPrompt()
	case "resources/list":
		return x.page("resources", resourceEntries)
	case "resources/templates/list":
		return x.page("resourceTemplates", templateEntries)
	case "resources/read":
		return x.readResource()
	case "completion/complete":
		return x.complete()
	}
	if x.session == nil {
		return x.routeModern()
	}
	return x.routeLegacy()
}

func (x *exchange) routeModern() (string, error) {
	switch x.method {
	case "server/discover":
		return x.discover(), nil
	case "tasks/get", "tasks/update", "tasks/cancel":
		return x.task()
	}
	return "", noMethod(x.method)
}

func (x *exchange) routeLegacy() (string, error) {
	switch x.method {
	case "ping":
		return `{}`, nil
	case "initialize":
		return x.initialize()
	case "logging/setLevel":
		if !slices.Contains(levels, x.p.Level) {
			return "", invalid("unknown level %q", x.p.Level)
		}
		x.session.setLevel(x.p.Level)
		return `{}`, nil
	case "resources/subscribe":
		x.session.watch(x.p.URI, true)
		return `{}`, nil
	case "resources/unsubscribe":
		x.session.watch(x.p.URI, false)
		return `{}`, nil
	}
	return "", noMethod(x.method)
}

func (s *state) info() string {
	return `{"name":` + quote(s.opts.name) + `,"version":"1.0.0","title":"Everything"}`
}

const serverCan = `"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{}`

const tasksExtension = "io.modelcontextprotocol/tasks"

func (x *exchange) initialize() (string, error) {
	version := legacy
	if slices.Contains(legacyVersions, x.p.ProtocolVersion) {
		version = x.p.ProtocolVersion
	}
	x.session.begin(version, x.p.Capabilities, x.p.ClientInfo)
	return fmt.Sprintf(`{"protocolVersion":%s,"capabilities":{%s,"logging":{}},"serverInfo":%s,"instructions":"Everything there is to test."}`,
		quote(version), serverCan, x.s.info()), nil
}

func (x *exchange) discover() string {
	versions, _ := json.Marshal(x.s.versions())
	return fmt.Sprintf(`{"ttlMs":0,"cacheScope":"private","supportedVersions":%s,"capabilities":{%s,"extensions":{%s:{}}},"instructions":"Everything there is to test.","_meta":{"io.modelcontextprotocol/serverInfo":%s}}`,
		versions, serverCan, quote(tasksExtension), x.s.info())
}

// cacheable opens a result that a modern agent may keep.
func (x *exchange) cacheable() string {
	if x.session == nil {
		return `{"ttlMs":0,"cacheScope":"private",`
	}
	return `{`
}

const pageSize = 100

func (x *exchange) page(key string, entries []string) (string, error) {
	start := 0
	if x.p.Cursor != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(x.p.Cursor, "at-"))
		if err != nil || n < 0 || n > len(entries) {
			return "", invalid("bad cursor")
		}
		start = n
	}
	end, next := len(entries), ""
	if start+pageSize < end {
		end = start + pageSize
		next = fmt.Sprintf(`,"nextCursor":"at-%d"`, end)
	}
	return x.cacheable() + `"` + key + `":[` + strings.Join(entries[start:end], ",") + `]` + next + `}`, nil
}
