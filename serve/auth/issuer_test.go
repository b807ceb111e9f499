package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

func read(t *testing.T, path string) (string, os.FileMode) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), info.Mode().Perm()
}

func write(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

const audience = "https://mcp.example.com/mcp"

// provider is a real OpenID provider on loopback.
type provider struct {
	*oidctest.Server
	url     string
	fetched atomic.Int32 // keys
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func startProvider(t *testing.T, id string, key *ecdsa.PrivateKey) *provider {
	t.Helper()
	p := &provider{Server: &oidctest.Server{}}
	p.rotate(id, key)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" {
			p.fetched.Add(1)
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	p.SetIssuer(s.URL)
	return p
}

func (p *provider) rotate(id string, key *ecdsa.PrivateKey) {
	p.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: id, Algorithm: oidc.ES256}}
}

// clock is the time as the tests set it.
type clock struct{ now time.Time }

func (c *clock) time() time.Time { return c.now }

func claims(p *provider, c *clock, change map[string]any) string {
	all := map[string]any{
		"iss": p.url, "aud": audience, "sub": "alice", "exp": c.now.Add(time.Hour).Unix(), "scope": "mcp:read mcp:write", "big": json.Number("9007199254740993"),
	}
	maps.Copy(all, change)
	for k, v := range all {
		if v == nil {
			delete(all, k)
		}
	}
	body, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(body)
}

func newIssuer(t *testing.T, p *provider, c *clock) *Authenticator {
	t.Helper()
	i, err := NewIssuer(IssuerOptions{URL: p.url, Audience: audience, Scopes: []string{"mcp:read"}, Now: c.time})
	if err != nil {
		t.Fatal(err)
	}
	return New(OpenTokens(t.TempDir()+"/none"), i)
}

func TestIssuer(t *testing.T) {
	key, c := newKey(t), &clock{time.Now()}
	p := startProvider(t, "one", key)
	other := startProvider(t, "one", key)
	door := newIssuer(t, p, c)
	sign := func(change map[string]any) string {
		return oidctest.SignIDToken(key, "one", oidc.ES256, claims(p, c, change))
	}
	unsigned := func(head, body string) string {
		enc := base64.RawURLEncoding.EncodeToString
		return enc([]byte(head)) + "." + enc([]byte(body)) + "."
	}
	tests := []struct {
		name, token string
		err         error
	}{
		{"good", sign(nil), nil},
		{"audience among several", sign(map[string]any{"aud": []string{"x", audience}}), nil},
		{"scopes as a list", sign(map[string]any{"scope": nil, "scp": []string{"mcp:read"}}), nil},
		{"expired within the skew", sign(map[string]any{"exp": c.now.Add(-30 * time.Second).Unix()}), nil},
		{"expired", sign(map[string]any{"exp": c.now.Add(-2 * time.Minute).Unix()}), ErrInvalid},
		{"without expiry", sign(map[string]any{"exp": nil}), ErrInvalid},
		{"not yet, within the skew", sign(map[string]any{"nbf": c.now.Add(30 * time.Second).Unix()}), nil},
		{"not yet", sign(map[string]any{"nbf": c.now.Add(2 * time.Minute).Unix()}), ErrInvalid},
		{"for somebody else", sign(map[string]any{"aud": "https://other.example.com"}), ErrInvalid},
		{"for nobody", sign(map[string]any{"aud": nil}), ErrInvalid},
		{"of another issuer", oidctest.SignIDToken(key, "one", oidc.ES256, claims(other, c, nil)), ErrInvalid},
		{"without a scope", sign(map[string]any{"scope": "mcp:write"}), ErrScope},
		{"without a subject", sign(map[string]any{"sub": nil}), ErrInvalid},
		{"with a subject that is no text", sign(map[string]any{"sub": 7}), ErrInvalid},
		{"signed by a stranger", oidctest.SignIDToken(newKey(t), "one", oidc.ES256, claims(p, c, nil)), ErrInvalid},
		{"alg none", unsigned(`{"alg":"none","typ":"JWT"}`, claims(p, c, nil)), ErrInvalid},
		{"alg none with the key's id", unsigned(`{"alg":"none","kid":"one"}`, claims(p, c, nil)), ErrInvalid},
		{"alg HS256", unsigned(`{"alg":"HS256","kid":"one"}`, claims(p, c, nil)) + "AAAA", ErrInvalid},
		{"cut off", sign(nil)[:60], ErrInvalid},
		{"three dots", "a.b.c.d", ErrInvalid},
		{"two dots", "..", ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			who, err := door.Authenticate(request("Bearer " + tt.token))
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err == nil && (who.Principal != "alice@"+strings.TrimPrefix(p.url, "http://") || len(who.Claims) == 0) {
				t.Errorf("got %+v", who)
			}
			if err != nil && (who.Principal != "" || who.Claims != nil) {
				t.Errorf("a refused credential is somebody's: %+v", who)
			}
		})
	}
}

func TestIssuerRotatesItsKey(t *testing.T) {
	first, second, c := newKey(t), newKey(t), &clock{time.Now()}
	p := startProvider(t, "one", first)
	door := newIssuer(t, p, c)
	enter := func(key *ecdsa.PrivateKey, id string) error {
		_, err := door.Authenticate(request("Bearer " + oidctest.SignIDToken(key, id, oidc.ES256, claims(p, c, nil))))
		return err
	}
	if err := enter(first, "one"); err != nil {
		t.Fatal(err)
	}
	p.rotate("two", second)
	c.now = c.now.Add(fetchPause)
	if err := enter(second, "two"); err != nil {
		t.Errorf("the new key: %v", err)
	}
	c.now = c.now.Add(keysAge)
	if err := enter(first, "one"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a withdrawn key: got %v, want ErrInvalid", err)
	}
}

func TestUnknownKeysDoNotFloodTheIssuer(t *testing.T) {
	key, c := newKey(t), &clock{time.Now()}
	p := startProvider(t, "one", key)
	door := newIssuer(t, p, c)
	for n := range 200 {
		token := oidctest.SignIDToken(key, fmt.Sprint("made-up-", n), oidc.ES256, claims(p, c, nil))
		if _, err := door.Authenticate(request("Bearer " + token)); !errors.Is(err, ErrInvalid) {
			t.Fatalf("got %v, want ErrInvalid", err)
		}
	}
	if n := p.fetched.Load(); n != 1 {
		t.Errorf("the keys were fetched %d times, want once", n)
	}
}

func TestIssuerThatIsNotThere(t *testing.T) {
	key, c := newKey(t), &clock{time.Now()}
	p := startProvider(t, "one", key)
	gone := httptest.NewServer(http.NotFoundHandler())
	at := gone.URL
	gone.Close()
	i, err := NewIssuer(IssuerOptions{URL: at, Audience: audience, Now: c.time})
	if err != nil {
		t.Fatal(err)
	}
	token := oidctest.SignIDToken(key, "one", oidc.ES256, claims(p, c, map[string]any{"iss": at}))
	if _, err := New(i).Authenticate(request("Bearer " + token)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}

func TestIssuerOptions(t *testing.T) {
	tests := []struct {
		name string
		o    IssuerOptions
		ok   bool
	}{
		{"https", IssuerOptions{URL: "https://id.example.com/realm", Audience: "a"}, true},
		{"http on this machine", IssuerOptions{URL: "http://127.0.0.1:1", Audience: "a"}, true},
		{"http elsewhere", IssuerOptions{URL: "http://id.example.com", Audience: "a"}, false},
		{"no audience", IssuerOptions{URL: "https://id.example.com"}, false},
		{"a symmetric algorithm", IssuerOptions{URL: "https://id.example.com", Audience: "a", Algorithms: []string{"HS256"}}, false},
		{"none", IssuerOptions{URL: "https://id.example.com", Audience: "a", Algorithms: []string{"none"}}, false},
		{"a password in the URL", IssuerOptions{URL: "https://a:b@id.example.com", Audience: "a"}, false},
		{"keys by http", IssuerOptions{URL: "https://id.example.com", Audience: "a", KeysURL: "http://id.example.com/keys"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := NewIssuer(tt.o); (err == nil) != tt.ok {
				t.Errorf("got %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func FuzzAuthenticate(f *testing.F) {
	for _, s := range []string{"", "Bearer", "Bearer a.b.c", "Bearer pdt_x", "Bearer eyJhbGciOiJub25lIn0.e30."} {
		f.Add(s)
	}
	i, err := NewIssuer(IssuerOptions{URL: "http://127.0.0.1:1", Audience: audience})
	if err != nil {
		f.Fatal(err)
	}
	door := New(OpenTokens(f.TempDir()+"/none"), i)
	f.Fuzz(func(t *testing.T, header string) {
		if who, err := door.Authenticate(request(header)); err == nil {
			t.Errorf("%q came in as %+v", header, who)
		}
	})
}
