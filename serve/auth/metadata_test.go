package auth

import (
	"fmt"
	"net/http/httptest"
	"testing"
)

func TestRefusal(t *testing.T) {
	issued := Resource{Issuers: []string{"https://id.example.com"}, Scopes: []string{"mcp:read", "mcp:write"}}
	const where = `resource_metadata="http://127.0.0.1:8931/.well-known/oauth-protected-resource/mcp"`
	tests := []struct {
		name      string
		resource  Resource
		err       error
		status    int
		challenge string
	}{
		{"tokens of ours only", Resource{}, ErrMissing, 401, "Bearer"},
		{"nothing sent", issued, ErrMissing, 401, "Bearer " + where + `, scope="mcp:read mcp:write"`},
		{"a bad one", issued, fmt.Errorf("%w: expired", ErrInvalid), 401, "Bearer " + where + `, error="invalid_token", scope="mcp:read mcp:write"`},
		{"too little", issued, ErrScope, 403, "Bearer " + where + `, error="insufficient_scope", scope="mcp:read mcp:write"`},
		{"no keys", issued, ErrUnavailable, 503, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, challenge := tt.resource.Refusal(request(), tt.err)
			if status != tt.status || challenge != tt.challenge {
				t.Errorf("got %d %s\nwant %d %s", status, challenge, tt.status, tt.challenge)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	tests := []struct {
		name, method, path string
		resource           Resource
		status             int
		body               string
	}{
		{"by the address", "GET", "/mcp", Resource{Issuers: []string{"https://id.example.com"}}, 200,
			`{"resource":"http://127.0.0.1:8931/mcp","authorization_servers":["https://id.example.com"],"bearer_methods_supported":["header"]}`},
		{"by name", "GET", "", Resource{URL: "https://a/mcp", Scopes: []string{"s"}}, 200,
			`{"resource":"https://a/mcp","scopes_supported":["s"],"bearer_methods_supported":["header"]}`},
		{"not by POST", "POST", "", Resource{}, 405, "only GET\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			tt.resource.Metadata().ServeHTTP(w, httptest.NewRequest(tt.method, "http://127.0.0.1:8931"+MetadataPath+tt.path, nil))
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("got %d %s\nwant %d %s", w.Code, w.Body, tt.status, tt.body)
			}
		})
	}
}
