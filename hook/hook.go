// Package hook holds the hooks that need no code: they redact, set arguments, limit, audit and remember.
package hook

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// placeholder is a word in braces that stands for something known of a call.
var placeholder = regexp.MustCompile(`\{(principal|role|view|server|tool|client|claims\.[A-Za-z0-9_.:/-]+)\}`)

// filled replaces the placeholders of a text; known is false where one stands for nothing.
func filled(text string, c dispatch.HookCall) (out string, known bool) {
	known = true
	out = placeholder.ReplaceAllStringFunc(text, func(m string) string {
		v := lookUp(m[1:len(m)-1], c)
		known = known && v != ""
		return v
	})
	return out, known
}

func lookUp(word string, c dispatch.HookCall) string {
	switch word {
	case "principal":
		return c.Agent.Principal
	case "role":
		return c.Agent.Role
	case "view":
		return c.Agent.View
	case "server":
		return c.Ref.Server
	case "tool":
		return c.Ref.Name
	case "client":
		return c.Agent.Client
	}
	claim := json.RawMessage(c.Agent.Claims)
	for _, key := range strings.Split(strings.TrimPrefix(word, "claims."), ".") {
		claim = rawjson.Member(claim, key)
	}
	if len(claim) == 0 {
		return ""
	}
	if claim[0] == '"' {
		return rawjson.Unquote(claim)
	}
	return string(claim)
}
