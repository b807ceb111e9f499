package serve

import (
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// checkModern holds the headers of a modern request against its body, as the protocol requires.
func checkModern(header http.Header, spoken era, m message) *Fault {
	version := header.Get(mcp.HeaderProtocolVersion)
	switch {
	case header.Get(mcp.HeaderLastEventID) != "":
		return faultf(mcp.HEADER_MISMATCH, "Last-Event-ID means nothing here: streams are not resumable, send the request again")
	case version == "":
		return faultf(mcp.HEADER_MISMATCH, "the %s header is missing", mcp.HeaderProtocolVersion)
	case spoken.version == "":
		return faultf(mcp.INVALID_PARAMS, "missing or invalid _meta field %s", mcp.MetaKeyProtocolVersion)
	case spoken.version != version:
		return faultf(mcp.HEADER_MISMATCH, "the %s header says %s, the message %s", mcp.HeaderProtocolVersion, version, spoken.version)
	}
	if err := mcp.ValidateStandardHeaders(header.Get, spoken.version, mcp.MCPMethod(m.method), m.params); err != nil {
		return faultf(mcp.HEADER_MISMATCH, "%v", err)
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
		mcp.HEADER_MISMATCH, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
