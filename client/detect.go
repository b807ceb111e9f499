package client

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Kind is which of the two tools a proxy offers.
type Kind string

// The kinds of tools.
const (
	KindProxy    Kind = "proxy"    // of the MCP Proxy Extension draft
	KindDispatch Kind = "dispatch" // proxy-dispatch
)

// Tool is a proxy's tool.
type Tool struct {
	Name string
	Kind Kind // "" means by the name
}

const dispatchName = "proxy-dispatch"

func kindOfName(name string) Kind {
	if name == dispatchName {
		return KindDispatch
	}
	return KindProxy
}

// Detect finds a proxy's tool among tools/list entries: one whose action can be list, info and call, under whatever name,
// else proxy-dispatch. The tool of the draft is preferred, because its answers say what they are.
func Detect(tools []json.RawMessage) (Tool, bool) {
	var found Tool
	for _, t := range tools {
		name := rawjson.Unquote(rawjson.Member(t, "name"))
		can := actionsOf(t)
		switch {
		case name == "":
		case has(can, actionList, actionInfo, actionCall) && hasProperty(t, "path"):
			if found.Kind != KindProxy || name == "proxy" {
				found = Tool{Name: name, Kind: KindProxy}
			}
		case found.Name == "" && has(can, "search", actionList, actionCall, "readresult"):
			found = Tool{Name: name, Kind: KindDispatch}
		case can == nil && (name == "proxy" || strings.HasSuffix(name, ":proxy")) && speaksOfProxy(t):
			if found.Kind != KindProxy { // its schema does not say what action can be
				found = Tool{Name: name, Kind: KindProxy}
			}
		}
	}
	return found, found.Name != ""
}

// actionsOf are the values that a tool's parameter action may have, nil if its schema does not say.
func actionsOf(tool json.RawMessage) []string {
	action := property(tool, "action")
	var values []string
	for v := range rawjson.Elements(rawjson.Member(action, "enum")) {
		values = append(values, rawjson.Unquote(v))
	}
	for _, of := range []string{"anyOf", "oneOf"} { // single words, one by one
		for s := range rawjson.Elements(rawjson.Member(action, of)) {
			if v := rawjson.Member(s, "const"); v != nil {
				values = append(values, rawjson.Unquote(v))
			}
		}
	}
	return values
}

func property(tool json.RawMessage, name string) json.RawMessage {
	return rawjson.Member(rawjson.Member(rawjson.Member(tool, "inputSchema"), "properties"), name)
}

func hasProperty(tool json.RawMessage, name string) bool { return property(tool, name) != nil }

func has(all []string, want ...string) bool {
	for _, w := range want {
		if !slices.Contains(all, w) {
			return false
		}
	}
	return true
}

func speaksOfProxy(tool json.RawMessage) bool {
	said := strings.ToLower(rawjson.Unquote(rawjson.Member(tool, "description")))
	return strings.Contains(said, "proxy") || strings.Contains(said, "capabilit")
}
