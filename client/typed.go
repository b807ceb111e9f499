package client

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// mcp-go refuses a whole result for one item it does not know. So items are read one by one, and what it can't read is kept
// raw beside the rest.

// read fills in the typed result of Raw.
func (r *CallResult) read() error {
	items := rawjson.Member(r.Raw, "content")
	if err := json.Unmarshal(rawjson.Set(r.Raw, "content", []byte("[]")), &r.CallToolResult); err != nil {
		return err
	}
	for item := range rawjson.Elements(items) {
		if content, err := readContent(item); err == nil {
			r.Content = append(r.Content, content)
		} else {
			r.Lost = append(r.Lost, item)
		}
	}
	return nil
}

func readContent(item json.RawMessage) (mcp.Content, error) {
	var m map[string]any
	if err := json.Unmarshal(item, &m); err != nil {
		return nil, err
	}
	return mcp.ParseContent(m)
}

func (r *ReadResourceResult) read() error {
	contents := rawjson.Member(r.Raw, "contents")
	bare := json.RawMessage(rawjson.Set(r.Raw, "contents", []byte("[]")))
	typed, err := mcp.ParseReadResourceResult(&bare)
	if err != nil {
		return err
	}
	r.ReadResourceResult = *typed
	for c := range rawjson.Elements(contents) {
		var m map[string]any
		if err := json.Unmarshal(c, &m); err != nil {
			return err
		}
		if content, err := mcp.ParseResourceContents(m); err == nil {
			r.Contents = append(r.Contents, content)
		} else {
			r.Lost = append(r.Lost, c)
		}
	}
	return nil
}

func (r *PromptResult) read() error {
	messages := rawjson.Member(r.Raw, "messages")
	bare := json.RawMessage(rawjson.Set(r.Raw, "messages", []byte("[]")))
	typed, err := mcp.ParseGetPromptResult(&bare)
	if err != nil {
		return err
	}
	r.GetPromptResult = *typed
	for m := range rawjson.Elements(messages) {
		one := json.RawMessage(rawjson.Set([]byte(`{}`), "messages", rawjson.Array([]json.RawMessage{m})))
		if typed, err := mcp.ParseGetPromptResult(&one); err == nil {
			r.Messages = append(r.Messages, typed.Messages...)
		} else {
			r.Lost = append(r.Lost, m)
		}
	}
	return nil
}
