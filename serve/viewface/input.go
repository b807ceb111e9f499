package viewface

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// input is what an agent gives the tools of a search face.
type input struct {
	query, tool string
	limit       int
	json        bool
	arguments   json.RawMessage
}

// spellings are other words for the parameters.
var spellings = map[string]string{"tool_name": "tool", "name": "tool", "args": "arguments", "params": "arguments", "input": "arguments"}

func readInput(raw json.RawMessage) (input, error) {
	var in input
	if len(raw) == 0 || string(raw) == "null" {
		return in, nil
	}
	obj, err := arguments.ParseObject(raw)
	if err != nil {
		return in, &dispatch.Error{Code: dispatch.BadRequest, Message: err.Error(), Do: "Send one JSON object with each key once", Err: err}
	}
	for _, m := range obj {
		key, ok := m.Key, true
		if to := spellings[key]; to != "" {
			key = to
		}
		switch key {
		case "query":
			ok = json.Unmarshal(m.Value, &in.query) == nil
		case "tool":
			ok = json.Unmarshal(m.Value, &in.tool) == nil
		case "limit":
			ok = json.Unmarshal(m.Value, &in.limit) == nil && in.limit >= 0
		case "format":
			in.json = rawjson.Unquote(m.Value) == "json"
		case "arguments":
			in.arguments = m.Value
		default:
			return in, &dispatch.Error{Code: dispatch.BadRequest, Message: fmt.Sprintf("there is no parameter %q", m.Key), Do: "Put the tool's own parameters into arguments"}
		}
		if !ok {
			return in, &dispatch.Error{Code: dispatch.BadRequest, Message: fmt.Sprintf("%s is of the wrong type", m.Key)}
		}
	}
	return in, nil
}

// readTool reads kept results in a view that spills.
const readTool = "read_result"

var readDefinition = entry(readTool, `Read a result that was kept aside, by the handle in its report: a part of it (op head, tail, slice, grep, sample, read), its shape, or what jq makes of it.`,
	`{"type":"object","properties":{"resultFile":{"type":"string","description":"the handle"},"op":{"type":"string","enum":["stat","head","tail","slice","bytes","grep","read","shape","sample"]},`+
		`"path":{"type":"string","description":"gjson"},"jq":{"type":"string"},"lines":{"type":"integer"},"fromLine":{"type":"integer"},"toLine":{"type":"integer"},"pattern":{"type":"string"},`+
		`"context":{"type":"integer"},"limit":{"type":"integer"},"offset":{"type":"integer"},"maxBytes":{"type":"integer"}},"required":["resultFile"]}`, true)

// read is the action readresult with the agent's parameters.
func (b base) read(ctx context.Context, c serve.Call) dispatch.Pieces {
	obj, err := arguments.ParseObject(c.Arguments)
	if err != nil {
		e := &dispatch.Error{Code: dispatch.BadRequest, Message: err.Error(), Do: "Send one JSON object with each key once", Err: err}
		return dispatch.Pieces{e.Result()}
	}
	in := dispatch.Input{Agent: c.Agent, Arguments: obj.Set("action", json.RawMessage(`"readresult"`)).Raw(), Meta: c.Meta, Contact: c.Contact}
	return b.o.Dispatcher.Handle(ctx, in)
}

// readAs writes the call of readTool that reads what a kept result's URI stands for.
func readAs(uri string) string {
	file, query, _ := strings.Cut(uri, "?")
	obj := arguments.Object{{Key: "resultFile", Value: rawjson.Quote(file)}}
	if values, err := url.ParseQuery(query); err == nil {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			obj = append(obj, arguments.Member{Key: key, Value: rawjson.Quote(values.Get(key))})
		}
	}
	return readTool + " " + string(obj.Raw())
}

// passedOn is the `_meta` of an agent's request for the server: without what belongs to the agent's own connection.
func passedOn(meta json.RawMessage) json.RawMessage {
	obj, err := arguments.ParseObject(meta)
	if err != nil {
		return nil
	}
	obj = slices.DeleteFunc(obj, func(m arguments.Member) bool {
		return m.Key == "progressToken" || strings.HasPrefix(m.Key, "io.modelcontextprotocol/")
	})
	if len(obj) == 0 {
		return nil
	}
	return obj.Raw()
}
