package everything

import (
	"fmt"
	"strings"
	"time"
)

// relayTools show what a relay does with the things around a call.
var relayTools = []tool{
	{name: "relay_echo", description: "Answers with its arguments and _meta.", schema: `{"type":"object"}`, run: func(x *exchange) (string, error) {
		return text(string(orEmpty(x.p.Arguments))), nil
	}},
	{name: "relay_client", description: "Says who the agent is and what it can do.", run: func(x *exchange) (string, error) {
		return text(`{"info":` + string(orNull(x.clientInfo())) + `,"capabilities":` + string(orNull(x.client())) + `}`), nil
	}},
	{name: "relay_notes", description: "Sends log messages and then the result, without a pause.", schema: `{"type":"object","properties":{"count":{"type":"integer"}}}`, run: (*exchange).notes},
	{name: "relay_big", description: "Answers with so many bytes of text.", schema: `{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}`, run: (*exchange).big},
	{name: "relay_wait", description: "Waits until it is cancelled, with progress.", run: (*exchange).wait},
	{name: "relay_cancelled", description: "Says how many calls of relay_wait were cancelled.", run: (*exchange).howManyCancelled},
	{name: "relay_touch", description: "Changes a resource.", schema: `{"type":"object","properties":{"uri":{"type":"string"}}}`, run: (*exchange).touch},
	{name: "relay_fault", description: "Fails as a protocol fails.", run: func(x *exchange) (string, error) {
		return "", &fault{code: -32042, message: "quota used up", data: `{"retryAfter":9007199254740993}`}
	}},
}

func (x *exchange) notes() (string, error) {
	a := struct{ Count int }{3}
	if err := x.into(&a); err != nil {
		return "", err
	}
	for i := range a.Count {
		x.progress(i+1, a.Count)
		x.log("warning", fmt.Sprintf(`{"note":%d}`, i+1))
	}
	return text(fmt.Sprintf("%d notes", a.Count)), nil
}

func (x *exchange) big() (string, error) {
	var a struct{ Bytes int }
	if err := x.into(&a); err != nil {
		return "", err
	}
	const line = "lorem ipsum dolor sit amet\n"
	return text(strings.Repeat(line, a.Bytes/len(line)+1)[:a.Bytes]), nil
}

func (x *exchange) wait() (string, error) {
	for i := range 600 {
		x.progress(i, 600)
		if err := x.pause(100 * time.Millisecond); err != nil {
			x.s.mu.Lock()
			x.s.cancelled++
			x.s.mu.Unlock()
			return "", err
		}
	}
	return text("nobody cancelled"), nil
}

func (x *exchange) howManyCancelled() (string, error) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return text(fmt.Sprint(x.s.cancelled)), nil
}

func (x *exchange) touch() (string, error) {
	a := struct{ URI string }{"test://watched-resource"}
	if err := x.into(&a); err != nil {
		return "", err
	}
	x.s.updated(a.URI)
	return text("touched"), nil
}
