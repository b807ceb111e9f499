package everything

import "encoding/json"

// askTools need something from the agent, in either era.
var askTools = []tool{
	{name: "test_sampling", description: "Has the agent's model answer a prompt.", schema: `{"type":"object","properties":{"prompt":{"type":"string","description":"What to ask the model"}},"required":["prompt"]}`, run: (*exchange).sampling},
	{name: "test_elicitation", description: "Asks the user for a name and an address.", schema: `{"type":"object","properties":{"message":{"type":"string","description":"What to show the user"}},"required":["message"]}`, run: (*exchange).elicitation},
	{name: "test_elicitation_sep1034_defaults", description: "Asks the user with default values.", run: asks(defaultsForm)},
	{name: "test_elicitation_sep1330_enums", description: "Asks the user with all kinds of choices.", run: asks(enumsForm)},
	{name: "test_streaming_elicitation", description: "Asks the user for a name.", run: asks(nameForm)},
	{name: "test_elicitation_url", description: "Sends the user to a page.", run: asks(question{"page", "elicitation/create",
		`{"mode":"url","elicitationId":"visit-1","url":"https://example.com/visit?token=1","message":"Please visit the page."}`})},
	{name: "test_sampling_with_tools", description: "Has the agent's model answer with tools at hand.", run: asks(question{"answer", "sampling/createMessage",
		`{"messages":[{"role":"user","content":{"type":"text","text":"What is the weather?"}}],"maxTokens":100,"tools":[{"name":"weather","description":"The weather","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}}`})},
	{name: "test_roots", description: "Lists the agent's roots.", run: asks(question{"roots", "roots/list", `{}`})},
	{name: "test_missing_capability", description: "Needs an agent with sampling.", run: func(x *exchange) (string, error) {
		return text("sampling is there"), x.demand("sampling")
	}},
}

// form is a question to the user with one level of properties.
func form(key, message, properties string, required ...string) question {
	need, _ := json.Marshal(required)
	return question{key, "elicitation/create", `{"message":` + quote(message) + `,"requestedSchema":{"type":"object","properties":{` + properties + `},"required":` + string(need) + `}}`}
}

var (
	nameForm     = form("user_name", "What is your name?", `"name":{"type":"string"}`, "name")
	defaultsForm = form("defaults", "Please review the values.",
		`"name":{"type":"string","description":"User name","default":"John Doe"},"age":{"type":"integer","description":"User age","default":30},"score":{"type":"number","description":"User score","default":95.5},`+
			`"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","description":"Verified","default":true}`, "name")
	enumsForm = form("choices", "Please choose.",
		`"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},`+
			`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},`+
			`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},`+
			`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},`+
			`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}`, "untitledSingle")
	capitalQuestion = sample("capital_question", "What is the capital of France?")
)

func sample(key, prompt string) question {
	return question{key, "sampling/createMessage", `{"messages":[{"role":"user","content":` + textBlock(prompt) + `}],"maxTokens":100}`}
}

// asks is a tool that puts one question and answers with the raw answer.
func asks(q question) func(*exchange) (string, error) {
	return func(x *exchange) (string, error) {
		got, err := x.ask(q)
		if err != nil {
			return "", err
		}
		return text("answer: " + string(got[q.key])), nil
	}
}

// contentOf is a member of an accepted form.
func contentOf(raw json.RawMessage, name string) string {
	var a struct {
		Content map[string]json.RawMessage
	}
	_ = json.Unmarshal(raw, &a)
	var s string
	_ = json.Unmarshal(orNull(a.Content[name]), &s)
	return s
}

func (x *exchange) sampling() (string, error) {
	var a struct{ Prompt string }
	if err := x.into(&a); err != nil {
		return "", err
	}
	got, err := x.ask(sample("answer", a.Prompt))
	if err != nil {
		return "", err
	}
	var m struct{ Content struct{ Text string } }
	_ = json.Unmarshal(got["answer"], &m)
	return text("LLM response: " + m.Content.Text), nil
}

func (x *exchange) elicitation() (string, error) {
	var a struct{ Message string }
	if err := x.into(&a); err != nil {
		return "", err
	}
	got, err := x.ask(form("user", a.Message, `"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}`, "username", "email"))
	if err != nil {
		return "", err
	}
	return text("User response: " + string(got["user"])), nil
}
