package dispatch

import "encoding/json"

// Dialect is an API's way to describe a tool to a model.
type Dialect string

// The dialects a definition can be written in.
const (
	OpenAI    Dialect = "openai"    // chat completions: {"type":"function","function":{…}}
	Anthropic Dialect = "anthropic" // messages: {"name","description","input_schema"}
	Gemini    Dialect = "gemini"    // a function declaration with an OpenAPI-style schema
)

// DefinitionFor returns the one tool's definition in an API's dialect, for agent runners that embed a
// Dispatcher without speaking MCP. The name follows the APIs' rules for names (`proxy_dispatch`).
func (d *Dispatcher) DefinitionFor(dialect Dialect) (json.RawMessage, error) {
	var def struct {
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if err := json.Unmarshal(d.Definition(Agent{}), &def); err != nil {
		return nil, &Error{Code: Internal, Message: "read the definition: " + err.Error(), Err: err}
	}
	const name = "proxy_dispatch"
	switch dialect {
	case OpenAI:
		return marshal(map[string]any{"type": "function", "function": map[string]any{
			"name": name, "description": def.Description, "parameters": def.InputSchema}})
	case Anthropic:
		return marshal(map[string]any{"name": name, "description": def.Description, "input_schema": def.InputSchema})
	case Gemini:
		return marshal(map[string]any{"name": name, "description": def.Description, "parameters": def.InputSchema})
	}
	return nil, &Error{Code: BadRequest, Message: "there is no dialect " + string(dialect)}
}
