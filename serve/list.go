package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// list answers tools/list from what the face knows now: in one page, unless a limit is given.
func (e *endpoint) list(params json.RawMessage, x *exchange) (parts, *Fault) {
	tools := e.face.Tools(x.agent)
	from, limit, bad := pageOf(params, len(tools))
	if bad != nil {
		return nil, bad
	}
	to := min(from+limit, len(tools))
	entries := make([][]byte, 0, to-from)
	for i, tool := range tools[from:to] {
		entry, err := rawjson.OneLine(tool)
		if err != nil {
			e.log.Error("tool entry is not JSON", "index", from+i, "err", err)
			return nil, faultf(mcp.INTERNAL_ERROR, "the tool list cannot be written")
		}
		entries = append(entries, entry)
	}
	result := fmt.Appendf(nil, `{"tools":[%s]`, bytes.Join(entries, []byte{','}))
	if to < len(tools) {
		result = fmt.Appendf(result, `,"nextCursor":%q`, cursorAt(to, limit))
	}
	result = append(result, '}')
	if !x.modern {
		return parts{result}, nil
	}
	return dressing{e.info, e.hints("tools/list", x.agent)}.dress(result), nil
}

// pageOf reads which part of a list of n entries is wanted.
func pageOf(params json.RawMessage, n int) (from, limit int, bad *Fault) {
	limit = n
	if raw := rawjson.Member(params, "limit"); raw != nil && string(raw) != "null" {
		given, err := strconv.Atoi(string(raw))
		if err != nil || given < 1 {
			return 0, 0, faultf(mcp.INVALID_PARAMS, "limit must be a positive integer")
		}
		limit = min(given, n)
	}
	cursor := rawjson.Member(params, "cursor")
	if cursor == nil || string(cursor) == `""` || string(cursor) == "null" {
		return 0, limit, nil
	}
	from, size, ok := readCursor(rawjson.Unquote(cursor))
	if !ok || from > n {
		return 0, 0, faultf(mcp.INVALID_PARAMS, "unknown cursor: list from the beginning")
	}
	if rawjson.Member(params, "limit") == nil {
		limit = size
	}
	return from, limit, nil
}

// cursorAt names where the next page begins and how large it is.
func cursorAt(from, limit int) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", from, limit))
}

func readCursor(text string) (from, limit int, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	at, size, ok := strings.Cut(string(raw), ".")
	from, err1 := strconv.Atoi(at)
	limit, err2 := strconv.Atoi(size)
	return from, limit, ok && err == nil && err1 == nil && err2 == nil && from > 0 && limit > 0
}
