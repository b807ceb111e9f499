package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode"

	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// claims puts into requests what a server is to know of the agent, and nothing else of the agent's access token.
func claims(headers map[string]string, next func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	if len(headers) == 0 {
		return next
	}
	return func(way http.RoundTripper) http.RoundTripper {
		if next != nil {
			way = next(way)
		}
		return teller{headers, way}
	}
}

type teller struct {
	headers map[string]string // claim by header
	next    http.RoundTripper
}

// maxClaim is the longest claim that is passed on, in bytes.
const maxClaim = 4096

// RoundTrip implements http.RoundTripper. An agent without a claim, and a request that is no agent's, goes without the
// header.
func (t teller) RoundTrip(r *http.Request) (*http.Response, error) {
	var said map[string]any
	_ = json.Unmarshal([]byte(serve.AgentOf(r.Context()).Claims), &said) // none is none
	r = r.Clone(r.Context())
	for header, claim := range t.headers {
		r.Header.Del(header)
		text, ok := said[claim].(string)
		if ok && text != "" && len(text) <= maxClaim && !strings.ContainsFunc(text, unicode.IsControl) {
			r.Header.Set(header, text)
		}
	}
	return t.next.RoundTrip(r)
}
