package serve

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// era tells which protocol a request speaks: since 2026-07-28 every request says so itself in
// `_meta`, before that initialize settled it for the session.
type era struct {
	modern bool
	// version is the one declared in the request, "" if none.
	version string
	// client is the agent's name declared in the request, "" if none.
	client string
}

// readEra reads a request's `_meta`, nil if absent. A modern request lacking what the protocol
// requires of it is a fault.
func readEra(meta json.RawMessage) (era, *Fault) {
	var e era
	var capabilities json.RawMessage
	if len(meta) == 0 || meta[0] != '{' {
		return e, nil
	}
	for key, value := range rawjson.Members(meta) {
		switch key {
		case mcp.MetaKeyProtocolVersion:
			e.version = rawjson.Unquote(value) // no string, no version: an older request
		case mcp.MetaKeyClientInfo:
			e.client = rawjson.Unquote(rawjson.Member(value, "name")) // without a name it is served all the same
		case mcp.MetaKeyClientCapabilities:
			capabilities = value
		}
	}
	if e.modern = mcp.IsModernProtocol(e.version); !e.modern {
		return e, nil
	}
	if capabilities == nil || capabilities[0] != '{' {
		return e, faultf(mcp.INVALID_PARAMS, "missing or invalid _meta field %s", mcp.MetaKeyClientCapabilities)
	}
	if !mcp.IsValidProtocolVersion(e.version) {
		told := mcp.UnsupportedProtocolVersionError{Version: e.version, Supported: mcp.ValidProtocolVersions}.JSONRPCError().Error
		data, err := json.Marshal(told.Data)
		if err != nil { // strings only
			panic(err)
		}
		return e, &Fault{Code: told.Code, Message: told.Message, Data: data}
	}
	return e, nil
}

// decorate adds what a modern result must carry and the face did not set: resultType and our
// identity. The result must be a JSON object; it is cut, not copied.
func decorate(result, serverInfo json.RawMessage) parts {
	result = bytes.TrimSpace(result)
	identity := append([]byte(`"`+mcp.MetaKeyServerInfo+`":`), serverInfo...)
	var meta json.RawMessage
	var metaAt int
	typed, empty := false, true
	for key, value := range rawjson.Spans(result, 0) {
		empty = false
		switch rawjson.Unquote(key.Of(result)) {
		case "resultType":
			typed = true
		case "_meta":
			meta, metaAt = value.Of(result), value.From
		}
	}
	var added [][]byte
	if !typed {
		added = append(added, []byte(`"resultType":"complete"`))
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
