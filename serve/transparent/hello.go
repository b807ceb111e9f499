package transparent

import (
	"encoding/json"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// ours are the capabilities that go with what a server has: we tell of changes of our lists whether it does or not.
var ours = map[string]string{
	"tools":     `{"listChanged":true}`,
	"prompts":   `{"listChanged":true}`,
	"resources": `{"listChanged":true}`,
}

// promised is declared while there is a server of which nothing is known: an agent asks only for what was declared when it
// came, so what may come has to be declared then.
const promised = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{},"completions":{}}`

// Capabilities are those of all servers together, as far as they are known.
func (f *Face) Capabilities(a dispatch.Agent) json.RawMessage {
	all := json.RawMessage(`{"tools":{"listChanged":true}}`)
	if f.o.Spill {
		all = union(all, serve.KeptCapabilities)
	}
	for _, s := range f.o.Dispatcher.Seen(a).Snapshot.Servers {
		switch {
		case f.o.Servers.State(s.Name) == "disabled":
			continue
		case !s.Known:
			all = union(all, json.RawMessage(promised))
		}
		all = union(all, s.Capabilities)
		if logs(s) {
			all = union(all, json.RawMessage(`{"logging":{}}`))
		}
		for key := range rawjson.Members(s.Capabilities) {
			if more := ours[key]; more != "" {
				all = union(all, json.RawMessage(`{"`+key+`":`+more+`}`))
			}
		}
	}
	return all
}

// union lays two objects over each other: objects are joined member by member, true wins, else what came first stays.
func union(first, second json.RawMessage) json.RawMessage {
	for key, v := range rawjson.Members(second) {
		have := rawjson.Member(first, key)
		switch {
		case have == nil || string(v) == "true" || string(have) == "null":
		case have[0] == '{' && v[0] == '{':
			v = union(have, v)
		default:
			continue
		}
		first = withMember(first, key, v)
	}
	return first
}

// maxInstructions bounds what is told an agent about all servers, in bytes.
const maxInstructions = 16 << 10

// Instructions are those of the servers, each under its name.
func (f *Face) Instructions(a dispatch.Agent) string {
	var b strings.Builder
	for _, s := range f.o.Dispatcher.Seen(a).Snapshot.Servers {
		if s.Instructions == "" || f.o.Servers.State(s.Name) == "disabled" {
			continue
		}
		part := "# " + s.Name + "\n" + s.Instructions + "\n"
		if b.Len()+len(part) > maxInstructions {
			part = "# " + s.Name + "\nIts instructions are too long to be shown here.\n"
		}
		if b.Len()+len(part) <= maxInstructions {
			b.WriteString(part)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
