package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// MetadataPath is where agents look for the metadata of a protected resource (RFC 9728, section 3.1); the path of the
// resource may follow.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Resource is what we tell agents about ourselves as a protected resource (RFC 9728, section 2).
type Resource struct {
	// URL is what agents ask a token for; "" means the address a request came to.
	URL string
	// Issuers are the authorization servers whose tokens count.
	Issuers []string
	// Scopes are worth asking for.
	Scopes []string
}

// Metadata serves the document to everybody, for every path under MetadataPath.
func (s Resource) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		resource := s.URL
		if resource == "" {
			resource = origin(r) + strings.TrimPrefix(r.URL.Path, MetadataPath)
		}
		body, err := json.Marshal(struct {
			Resource string   `json:"resource"`
			Issuers  []string `json:"authorization_servers,omitempty"`
			Scopes   []string `json:"scopes_supported,omitempty"`
			Methods  []string `json:"bearer_methods_supported"`
		}{resource, s.Issuers, s.Scopes, []string{"header"}})
		if err != nil {
			panic(err) // texts always marshal
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // a public document; agents in browsers read it before they have a token
		_, _ = w.Write(body)                               // an agent that left needs no document
	})
}

// Refusal is the status and the WWW-Authenticate header for an error of Authenticate (RFC 6750, section 3).
func (s Resource) Refusal(r *http.Request, err error) (status int, challenge string) {
	parts := []string{}
	if len(s.Issuers) > 0 {
		parts = append(parts, fmt.Sprintf("resource_metadata=%q", origin(r)+MetadataPath+(&url.URL{Path: r.URL.Path}).EscapedPath()))
	}
	status = http.StatusUnauthorized
	switch {
	case errors.Is(err, ErrUnavailable):
		return http.StatusServiceUnavailable, ""
	case errors.Is(err, ErrScope):
		status = http.StatusForbidden
		parts = append(parts, `error="insufficient_scope"`)
	case !errors.Is(err, ErrMissing):
		parts = append(parts, `error="invalid_token"`)
	}
	if len(s.Scopes) > 0 {
		parts = append(parts, fmt.Sprintf("scope=%q", strings.Join(s.Scopes, " ")))
	}
	return status, strings.TrimSpace("Bearer " + strings.Join(parts, ", "))
}

// origin is the address a request came to. Its Host was checked before.
func origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}
