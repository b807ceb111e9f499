package serve

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// era tells which protocol a request speaks, and what its agent said of itself: since 2026-07-28 every request says so
// itself in `_meta`, before that initialize settled it for the session.
type era struct {
	modern bool
	// version is the one declared, "" if none.
	version string
	// client is the agent's name, "" if it has none.
	client string
	// capabilities is the object of what the agent can do, nil if it said nothing.
	capabilities json.RawMessage
	// level is the least severe log message wanted, an index into levels; beyond its end: none at all.
	level int
}

// levels of log messages, least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// readEra reads a request's `_meta`, nil if absent. A modern request lacking what the protocol
// requires of it is a fault.
func readEra(meta json.RawMessage) (era, *Fault) {
	e := era{level: len(levels)}
	if len(meta) == 0 || meta[0] != '{' {
		return e, nil
	}
	levelKnown := true
	for key, value := range rawjson.Members(meta) {
		switch key {
		case mcp.MetaKeyProtocolVersion:
			e.version = rawjson.Unquote(value) // no string, no version: an older request
		case mcp.MetaKeyClientInfo:
			e.client = rawjson.Unquote(rawjson.Member(value, "name")) // without a name it is served all the same
		case mcp.MetaKeyClientCapabilities:
			e.capabilities = value
		case mcp.MetaKeyLogLevel:
			e.level = slices.Index(levels, rawjson.Unquote(value))
			levelKnown = e.level >= 0
		}
	}
	if e.modern = mcp.IsModernProtocol(e.version) || e.version != "" && !mcp.IsValidProtocolVersion(e.version); !e.modern {
		return e, nil
	}
	if e.capabilities == nil || e.capabilities[0] != '{' {
		return e, faultf(mcp.INVALID_PARAMS, "missing or invalid _meta field %s", mcp.MetaKeyClientCapabilities)
	}
	if !mcp.IsValidProtocolVersion(e.version) {
		return e, unsupported(e.version)
	}
	if !levelKnown {
		return e, faultf(mcp.INVALID_PARAMS, "unknown log level in the _meta field %s", mcp.MetaKeyLogLevel)
	}
	return e, nil
}

func unsupported(version string) *Fault {
	told := mcp.UnsupportedProtocolVersionError{Version: version, Supported: mcp.ValidProtocolVersions}.JSONRPCError().Error
	data, err := json.Marshal(told.Data)
	if err != nil { // strings only
		panic(err)
	}
	return &Fault{Code: told.Code, Message: told.Message, Data: data}
}

// wants says whether a notification goes to an agent: one about a log message only if it is severe enough.
func (e era) wants(method string, params json.RawMessage) bool {
	if method != "notifications/message" {
		return true
	}
	return slices.Index(levels, rawjson.Unquote(rawjson.Member(params, "level"))) >= e.level && e.level < len(levels)
}

// dressing is what a modern result gets beside what the face said.
type dressing struct {
	info  json.RawMessage // serverInfo
	hints []byte          // members for caching, added where the result has none; nil for no caching
}

// dress adds what a modern result must carry and the face did not set: resultType, our identity, hints for caching.
// The result must be a JSON object; it is cut, not copied.
func (d dressing) dress(result json.RawMessage) parts {
	result = bytes.TrimSpace(result)
	identity := append([]byte(`"`+mcp.MetaKeyServerInfo+`":`), d.info...)
	var meta json.RawMessage
	var metaAt int
	typed, empty, hinted := false, true, d.hints == nil
	for key, value := range rawjson.Spans(result, 0) {
		empty = false
		switch rawjson.Unquote(key.Of(result)) {
		case "resultType":
			typed = true
			hinted = hinted || string(value.Of(result)) != `"complete"`
		case "ttlMs", "cacheScope":
			hinted = true
		case "_meta":
			meta, metaAt = value.Of(result), value.From
		}
	}
	var added [][]byte
	if !typed {
		added = append(added, []byte(`"resultType":"complete"`))
	}
	if !hinted {
		added = append(added, d.hints)
	}
	if meta == nil {
		added = append(added, slices.Concat([]byte(`"_meta":{`), identity, []byte(`}`)))
	}
	pieces := parts{opening(added, empty)}
	if meta == nil || meta[0] != '{' || rawjson.Member(meta, mcp.MetaKeyServerInfo) != nil {
		return append(pieces, result[1:])
	}
	inside := metaAt + 1
	bare := len(bytes.Trim(meta, "{} \t\r\n")) == 0
	return append(pieces, result[1:inside], opening([][]byte{identity}, bare)[1:], result[inside:])
}

// opening starts a JSON object with the members given; the rest of the object follows, which may be empty.
func opening(members [][]byte, restEmpty bool) []byte {
	head := append([]byte{'{'}, bytes.Join(members, []byte{','})...)
	if len(members) > 0 && !restEmpty {
		head = append(head, ',')
	}
	return head
}
