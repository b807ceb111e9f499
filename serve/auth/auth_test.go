package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func request(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8931/mcp", nil)
	r.Header["Authorization"] = authorization
	return r
}

func TestBearer(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		want    string
		err     error
	}{
		{"none", nil, "", ErrMissing},
		{"bearer", []string{"Bearer abc"}, "abc", nil},
		{"scheme in any case", []string{"bEARER abc"}, "abc", nil},
		{"two spaces", []string{"Bearer  abc"}, "abc", nil},
		{"basic", []string{"Basic YTpi"}, "", ErrInvalid},
		{"no scheme", []string{"abc"}, "", ErrInvalid},
		{"no credential", []string{"Bearer "}, "", ErrInvalid},
		{"two headers", []string{"Bearer a", "Bearer b"}, "", ErrInvalid},
		{"endless", []string{"Bearer " + strings.Repeat("x", maxCredential+1)}, "", ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := bearer(request(tt.headers...).Header)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %v, want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestAuthenticateWithoutSources(t *testing.T) {
	if _, err := New().Authenticate(request("Bearer abc")); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "tokens.json")
	now := time.Now()
	file := OpenTokens(path)
	file.now = func() time.Time { return now }
	door := New(file)

	if list, err := file.List(); err != nil || len(list) != 0 {
		t.Fatalf("a file that is not there: got %v, %v", list, err)
	}
	alice, err := file.Create("alice", "reader", 0)
	if err != nil {
		t.Fatal(err)
	}
	// Another process makes a second one.
	brief, err := OpenTokens(path).Create("brief", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Create("alice", "", 0); !errors.Is(err, ErrTokenExists) {
		t.Errorf("the same name again: got %v", err)
	}
	got, err := door.Authenticate(request("Bearer " + alice))
	if diff := cmp.Diff(Identity{Principal: "alice", Role: "reader"}, got); err != nil || diff != "" {
		t.Errorf("alice: %v (-want +got):\n%s", err, diff)
	}
	if got, err := door.Authenticate(request("Bearer " + brief)); err != nil || got.Principal != "brief" {
		t.Errorf("brief: got %+v, %v", got, err)
	}
	// Its life was an hour.
	now = time.Now().Add(2 * time.Hour)
	if _, err := door.Authenticate(request("Bearer " + brief)); !errors.Is(err, ErrInvalid) {
		t.Errorf("expired: got %v, want ErrInvalid", err)
	}
	for _, wrong := range []string{alice + "x", alice[:len(alice)-1], tokenPrefix, strings.ToLower(alice)} {
		if _, err := door.Authenticate(request("Bearer " + wrong)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got %v, want ErrInvalid", wrong, err)
		}
	}
	if err := OpenTokens(path).Revoke("alice"); err != nil {
		t.Fatal(err)
	}
	if _, err := door.Authenticate(request("Bearer " + alice)); !errors.Is(err, ErrInvalid) {
		t.Errorf("revoked: got %v, want ErrInvalid", err)
	}
	if err := file.Revoke("alice"); !errors.Is(err, ErrNoToken) {
		t.Errorf("revoked twice: got %v", err)
	}
}

func TestTokenFileKeepsSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	file := OpenTokens(path)
	token, err := file.Create("alice", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	body, mode := read(t, path)
	if strings.Contains(body, token) || strings.Contains(body, strings.TrimPrefix(token, tokenPrefix)) {
		t.Errorf("the file holds the token: %s", body)
	}
	if mode != 0o600 {
		t.Errorf("got mode %o, want 600", mode)
	}
}

func TestBrokenTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	file := OpenTokens(path)
	token, err := file.Create("alice", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, `{"tokens": [`)
	if _, err := New(file).Authenticate(request("Bearer " + token)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable: nobody comes in by what cannot be read", err)
	}
	if _, err := file.Create("bob", "", 0); err == nil {
		t.Error("a change overwrote a file that could not be read")
	}
}
