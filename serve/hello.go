package serve

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// greeting is what an agent said of itself when it shook hands.
type greeting struct {
	version, client    string
	info, capabilities json.RawMessage // objects, nil if it said nothing
}

// readGreeting reads the params of initialize; what is missing is nothing to fail for.
func readGreeting(params json.RawMessage) greeting {
	g := greeting{version: mcp.NegotiateLegacyVersion(rawjson.Unquote(rawjson.Member(params, "protocolVersion")))}
	if info := rawjson.Member(params, "clientInfo"); isObject(info) {
		g.info, g.client = bytes.Clone(info), rawjson.Unquote(rawjson.Member(info, "name"))
	}
	if able := rawjson.Member(params, "capabilities"); isObject(able) {
		g.capabilities = bytes.Clone(able)
	}
	return g
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// greet is the answer to initialize.
func (e *endpoint) greet(a dispatch.Agent, g greeting) parts {
	line := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s%s}`,
		g.version, e.capabilities(a, ""), e.info, e.instructions(a))
	return parts{line}
}

// discover answers server/discover.
func (e *endpoint) discover(a dispatch.Agent) parts {
	versions, err := json.Marshal(mcp.ValidProtocolVersions)
	if err != nil { // strings only
		panic(err)
	}
	line := fmt.Appendf(nil, `{"supportedVersions":%s,"capabilities":%s%s}`, versions, e.capabilities(a, "tasks"), e.instructions(a)) // which are an extension now
	return dressing{e.info, e.hints("server/discover", a)}.dress(line)
}

func (e *endpoint) instructions(a dispatch.Agent) []byte {
	if text := e.face.Instructions(a); text != "" {
		return append([]byte(`,"instructions":`), rawjson.Quote(text)...)
	}
	return nil
}

// capabilities is ours with the face's laid over it, but for one ("" is none).
func (e *endpoint) capabilities(a dispatch.Agent, without string) []byte {
	said := e.face.Capabilities(a)
	var members [][]byte
	tools := false
	ok := said == nil || rawjson.Object(said, func(key, value []byte) {
		name := rawjson.Unquote(key)
		if name == without {
			return
		}
		tools = tools || name == "tools"
		members = append(members, append(append(bytes.Clone(key), ':'), rawjson.Compact(value)...))
	})
	if !ok {
		e.log.Error("capabilities of the face are no JSON object")
		members, tools = nil, false
	}
	if !tools {
		members = append([][]byte{[]byte(`"tools":{}`)}, members...)
	}
	return append(append([]byte{'{'}, bytes.Join(members, []byte{','})...), '}')
}

// has says whether a capability of the face holds a member that is true, such as resources.subscribe; without a
// member, whether it is there at all.
func (e *endpoint) has(a dispatch.Agent, capability, member string) bool {
	held := rawjson.Member(e.face.Capabilities(a), capability)
	if member == "" {
		return held != nil
	}
	return string(rawjson.Member(held, member)) == "true"
}

// How long a modern agent may keep what it got: a list that can't change without our telling, one that can, and what
// we only carry.
const (
	fixedTTL    = 300_000
	changingTTL = 60_000
)

// hints is what an answer says about being kept, nil where the protocol wants nothing. What an agent sees depends on
// who it is, so it is never shared.
func (e *endpoint) hints(method string, a dispatch.Agent) []byte {
	ttl := 0
	switch method {
	case "server/discover":
		ttl = fixedTTL
	case "tools/list":
		if ttl = fixedTTL; e.has(a, "tools", "listChanged") {
			ttl = changingTTL
		}
	case "prompts/list", "resources/list", "resources/templates/list":
		ttl = changingTTL
	case "resources/read":
	default:
		return nil
	}
	return fmt.Appendf(nil, `"ttlMs":%d,"cacheScope":"private"`, ttl)
}
