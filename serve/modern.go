package serve

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// checkModern holds the headers of a modern request against its body, as the protocol requires.
func checkModern(header http.Header, spoken era, m message) *Fault {
	version, method := header.Get(mcp.HeaderProtocolVersion), header.Get(mcp.HeaderMethod)
	switch {
	case version == "":
		return faultf(mcp.HEADER_MISMATCH, "the %s header is missing", mcp.HeaderProtocolVersion)
	case spoken.version == "":
		return faultf(mcp.INVALID_PARAMS, "missing or invalid _meta field %s", mcp.MetaKeyProtocolVersion)
	case spoken.version != version:
		return faultf(mcp.HEADER_MISMATCH, "the %s header says %s, the message %s", mcp.HeaderProtocolVersion, version, spoken.version)
	case !mcp.IsValidProtocolVersion(version):
		return unsupported(version)
	case method == "":
		return faultf(mcp.HEADER_MISMATCH, "the %s header is missing", mcp.HeaderMethod)
	case method != m.method:
		return faultf(mcp.HEADER_MISMATCH, "the %s header says %q, the message %q", mcp.HeaderMethod, method, m.method)
	}
	return checkName(header, m)
}

// checkName holds the header that says what a request is about against the message.
func checkName(header http.Header, m message) *Fault {
	member, needed := "name", true
	switch m.method {
	case "resources/read":
		member = "uri"
	case "tools/call", "prompts/get":
	case "tasks/get", "tasks/update", "tasks/cancel":
		member, needed = "taskId", false
	default:
		return nil
	}
	values := header.Values(mcp.HeaderName)
	if len(values) == 0 && !needed {
		return nil
	}
	if len(values) == 0 {
		return faultf(mcp.HEADER_MISMATCH, "the %s header is missing", mcp.HeaderName)
	}
	said, ok := mcp.DecodeHeaderValue(values[0])
	if !ok {
		return faultf(mcp.HEADER_MISMATCH, "the %s header is not valid Base64", mcp.HeaderName)
	}
	if name := rawjson.Unquote(rawjson.Member(m.params, member)); name != said {
		return faultf(mcp.HEADER_MISMATCH, "the %s header says %q, the message %q", mcp.HeaderName, said, name)
	}
	return nil
}

// checkParams holds the headers that repeat arguments of a tool against them.
func (s *spot) checkParams(header http.Header, m message, x *exchange) *Fault {
	name := rawjson.Unquote(rawjson.Member(m.params, "name"))
	for _, entry := range s.face.Tools(x.agent) {
		if !bytes.Contains(entry, []byte("x-mcp-header")) || rawjson.Unquote(rawjson.Member(entry, "name")) != name {
			continue
		}
		tool := mcp.Tool{Name: name, RawInputSchema: rawjson.Member(entry, "inputSchema")}
		lookup := func(name string) (string, bool) {
			values := header.Values(name)
			if len(values) == 0 {
				return "", false
			}
			return values[0], true
		}
		if err := mcp.ValidateParamHeadersLookup(lookup, &tool, json.RawMessage(m.params)); err != nil {
			return faultf(mcp.HEADER_MISMATCH, "%v", err)
		}
		return nil
	}
	return nil
}

// modernStatus is the HTTP status that goes with an outcome.
func modernStatus(bad *Fault) int {
	if bad == nil {
		return http.StatusOK
	}
	switch bad.Code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.PARSE_ERROR,
		mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
