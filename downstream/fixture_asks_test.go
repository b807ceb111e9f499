package downstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// read gives one message of the client.
func (f *fixture) read(in *bufio.Reader) ([]byte, error) {
	if !f.has("framed") {
		return in.ReadBytes('\n')
	}
	size := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length:"); ok {
			size, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	message := make([]byte, size)
	_, err := io.ReadFull(in, message)
	return message, err
}

// settle takes an answer of the client to a question.
func (f *fixture) settle(id string, line []byte) {
	f.mu.Lock()
	waits := f.asked[id]
	delete(f.asked, id)
	f.answered++
	f.mu.Unlock()
	if waits != nil {
		waits <- string(bytes.TrimSpace(line))
		return
	}
	select {
	case f.replies <- bytes.TrimSpace(line):
	default:
	}
}

// ask puts a question and gives where its answer comes.
func (f *fixture) ask(id, method, params string) chan string {
	waits := make(chan string, 1)
	f.mu.Lock()
	if f.asked == nil {
		f.asked = map[string]chan string{}
	}
	f.asked[id] = waits
	f.mu.Unlock()
	f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params))
	return waits
}

// callWithQuestions are the methods during which the server asks.
func (f *fixture) callWithQuestions(id json.RawMessage, method string, params []byte) {
	var p struct {
		N              int
		ID, Params     json.RawMessage
		InputResponses json.RawMessage
		RequestState   json.RawMessage
		Name           string
		Meta           json.RawMessage `json:"_meta"`
	}
	json.Unmarshal(params, &p)
	switch method {
	case "question": // one, with the given id and params
		go func() { f.answer(id, <-f.ask(string(p.ID), "elicitation/create", string(p.Params))) }()
	case "questions": // n at once
		go func() {
			var all []chan string
			for i := range p.N {
				all = append(all, f.ask(fmt.Sprintf(`"%s-%d"`, id, i), "elicitation/create", fmt.Sprintf(`{"i":%d}`, i)))
			}
			wrong := 0
			for i, waits := range all {
				if !strings.Contains(<-waits, fmt.Sprintf(`"result":{"i":%d}`, i)) {
					wrong++
				}
			}
			f.answer(id, fmt.Sprintf(`{"wrong":%d}`, wrong))
		}()
	case "ask and answer": // without waiting
		f.ask(`"never"`, "elicitation/create", `{}`)
		f.answer(id, `{}`)
	case "ask and take back":
		f.ask(`"back"`, "elicitation/create", `{}`)
		f.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"back","reason":"x"}}` + "\n")
	case "ask and die":
		f.ask(`"dying"`, "elicitation/create", `{}`)
		os.Exit(3)
	case "twice": // answers, and answers again, and answers what nobody asked
		f.answer(id, `{"first":true}`)
		f.answer(id, `{"second":true}`)
		f.answer([]byte(`987654`), `{}`)
		f.answer([]byte(`"no such"`), `{}`)
		f.answer([]byte(`{"an":"object"}`), `{}`)
	case "answered":
		f.mu.Lock()
		n := f.answered
		f.mu.Unlock()
		f.answer(id, fmt.Sprintf(`{"n":%d}`, n))
	case "say": // n words and the result at once
		var b strings.Builder
		for i := range p.N {
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%d}}`+"\n", i)
		}
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%s,"result":{"said":%d}}`+"\n", id, p.N)
		f.write(b.String())
	case "say and ask":
		f.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}` + "\n")
		go func() { f.answer(id, string(mustJSON(<-f.ask(`"q"`, "elicitation/create", `{}`)))) }()
	case "tools/call":
		f.round(id, p.Name, p.InputResponses, p.RequestState)
	case "greeting":
		f.answer(id, string(f.greeting))
	case "state":
		f.answer(id, string(mustJSON(map[string]json.RawMessage{"meta": p.Meta})))
	default:
		f.refuse(id, `{"code":-32601,"message":"method not found"}`)
	}
}

// round is a call in the new era, which asks by its result.
func (f *fixture) round(id json.RawMessage, name string, answers, state json.RawMessage) {
	switch {
	case name == "endless", name == "patience" && string(state) != `"try 3"`:
		var n int
		fmt.Sscanf(string(state), `"try %d"`, &n)
		f.answer(id, fmt.Sprintf(`{"resultType":"input_required","requestState":"try %d"}`, n+1))
	case name == "sampling endless":
		f.answer(id, `{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}}`)
	case name == "strange":
		f.answer(id, `{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call","params":{}}}}`)
	case name == "asks" && answers == nil:
		f.answer(id, `{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"n":1.10}},"roots":{"method":"roots/list"}},"requestState":"s \u00fc/\"1"}`)
	default:
		f.answer(id, fmt.Sprintf(`{"content":[],"answers":%s,"state":%s}`, orNull(answers), orNull(state)))
	}
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage(`null`)
	}
	return raw
}

// listen acknowledges what is listened for and tells at once that it changed.
func (f *fixture) listen(id json.RawMessage, params []byte) {
	var p struct {
		Notifications struct{ ResourceSubscriptions []string }
	}
	json.Unmarshal(params, &p)
	if !f.has("acks") {
		return
	}
	meta := fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/subscriptionId":%s}`, id)
	f.write(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `,"notifications":{}}}` + "\n")
	for _, uri := range p.Notifications.ResourceSubscriptions {
		f.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{%s,"uri":%q}}`+"\n", meta, uri))
	}
}
