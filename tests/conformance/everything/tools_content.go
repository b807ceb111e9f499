package everything

import (
	"context"
	"time"
)

// contentTools answer by themselves. The first of them can be called without arguments.
var contentTools = []tool{
	{name: "test_simple_text", description: "Answers with a text.", run: fixed(text("This is a simple text response for testing."))},
	{name: "test_image_content", description: "Answers with an image.", run: fixed(content(imageBlock))},
	{name: "test_audio_content", description: "Answers with a sound.", run: fixed(content(audioBlock))},
	{name: "test_embedded_resource", description: "Answers with a resource.", run: fixed(content(`{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}`))},
	{name: "test_multiple_content_types", description: "Answers with content of several kinds.", run: fixed(content(textBlock("Multiple content types test:") + `,` + imageBlock +
		`,{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}`))},
	{name: "test_resource_link", description: "Answers with a link to a resource.", run: fixed(content(`{"type":"resource_link","uri":"test://static-text","name":"static text","mimeType":"text/plain"}`))},
	{name: "test_error_handling", description: "Fails as a tool fails.", run: fixed(failed("This tool intentionally returns an error for testing"))},
	{name: "test_tool_with_logging", description: "Logs while it runs.", run: (*exchange).withLogging},
	{name: "test_logging_tool", description: "Logs once, to those who asked for it.", run: (*exchange).withLogging},
	{name: "test_tool_with_progress", description: "Reports progress while it runs.", run: (*exchange).withProgress},
	{name: "test_reconnection", description: "Ends the stream of its answer before it answers.", run: (*exchange).reconnection},
	{name: headerTool, description: "Takes a region that is repeated in a header.", schema: `{"type":"object","properties":{"region":{"type":"string","description":"Where","x-mcp-header":"Region"}},"required":["region"]}`, run: (*exchange).headerParameter},
	{name: "json_schema_2020_12_tool", description: "Tool with JSON Schema 2020-12 features", schema: schema202012, run: fixed(text("understood"))},
	{name: "test_trigger_tool_change", description: "Adds or takes away a tool.", run: (*exchange).toolChange},
	{name: "test_trigger_prompt_change", description: "Adds or takes away a prompt.", run: (*exchange).promptChange},
}

const schema202012 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

// step is how long the steps of the tools that take some time take.
const step = 50 * time.Millisecond

// pause waits, or says that nobody waits for the call any more.
func (x *exchange) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
}

func (x *exchange) withLogging() (string, error) {
	for i, words := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			if err := x.pause(step); err != nil {
				return "", err
			}
		}
		x.log("info", quote(words))
	}
	return text("logged"), nil
}

func (x *exchange) withProgress() (string, error) {
	for done := 0; done <= 100; done += 50 {
		x.progress(done, 100)
		if err := x.pause(step); err != nil {
			return "", err
		}
	}
	return text("done"), nil
}

func (x *exchange) reconnection() (string, error) {
	if err := x.pause(step); err != nil {
		return "", err
	}
	x.hangUp()
	if err := x.pause(2 * step); err != nil {
		return "", err
	}
	return text("Reconnection test completed successfully."), nil
}

func (x *exchange) headerParameter() (string, error) {
	var a struct{ Region string }
	if err := x.into(&a); err != nil {
		return "", err
	}
	return text("region " + a.Region), nil
}

func (x *exchange) toolChange() (string, error) {
	x.s.mu.Lock()
	x.s.tools = !x.s.tools
	x.s.mu.Unlock()
	x.s.changed("notifications/tools/list_changed", func(f filter) bool { return f.ToolsListChanged })
	return text("the tools are different now"), nil
}

func (x *exchange) promptChange() (string, error) {
	x.s.mu.Lock()
	x.s.prompts = !x.s.prompts
	x.s.mu.Unlock()
	x.s.changed("notifications/prompts/list_changed", func(f filter) bool { return f.PromptsListChanged })
	return text("the prompts are different now"), nil
}
