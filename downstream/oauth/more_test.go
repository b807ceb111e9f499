package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

// consent is a person who agrees to the scopes that are asked for.
func (h *house) consent(ctx context.Context, address string) (Answer, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Answer{}, err
	}
	h.mu.Lock()
	h.scope = u.Query().Get("scope")
	h.mu.Unlock()
	return agree(ctx, address)
}

func TestNewLoginWhereARefreshedOneIsRefused(t *testing.T) {
	h := newHouse(t)
	store := OpenStore(t.TempDir())
	if status, _ := h.post(h.login(store, agree)); status != 200 {
		t.Fatal(status)
	}
	h.revoke()
	h.mu.Lock()
	h.deaf = true
	h.mu.Unlock()
	if status, _ := h.post(h.login(store, nil)); status != 401 {
		t.Errorf("nobody to ask: got %d", status)
	}
	if status, _ := h.post(h.login(store, agree)); status != 200 {
		t.Errorf("somebody to ask: got %d", status)
	}
	if got, want := h.grants(), "authorization_code refresh_token refresh_token authorization_code"; got != want {
		t.Errorf("got grants %s, want %s", got, want)
	}
}

func TestLoginForMore(t *testing.T) {
	h := newHouse(t)
	store := OpenStore(t.TempDir())
	serving := h.login(store, nil)
	if status, _ := h.post(h.login(store, h.consent)); status != 200 {
		t.Fatal(status)
	}
	h.mu.Lock()
	h.needs, h.posts = "write", 0
	h.mu.Unlock()
	if status, body := h.post(serving); status != 403 || !strings.Contains(body, "too little") {
		t.Errorf("nobody to ask: got %d %s, want the server's own 403", status, body)
	}
	if err := h.login(store, h.consent).Extend(t.Context(), Challenge([]string{"write"})); err != nil {
		t.Fatal(err)
	}
	if inOrder(h.scope) != "read write" {
		t.Errorf("asked for %q, want what there was and what was missing", h.scope)
	}
	if status, _ := h.post(serving); status != 200 {
		t.Errorf("the running proxy: got %d", status)
	}
	h.mu.Lock()
	h.needs = "admin"
	h.mu.Unlock()
	if status, _ := h.post(h.login(store, h.consent)); status != 200 || inOrder(h.scope) != "admin read write" {
		t.Errorf("got %d with %q", status, h.scope)
	}
	h.mu.Lock()
	h.needs, h.posts = "nothing helps", 0
	h.mu.Unlock()
	if status, _ := h.post(h.login(store, h.consent)); status != 403 || h.posts != 1 {
		t.Errorf("another refusal: got %d after %d requests, want one", status, h.posts)
	}
	if got := Missing(Challenge([]string{"a", "b"})); !cmp.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
	if got := Missing("= not a challenge"); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// inOrder sorts scopes, whose order means nothing.
func inOrder(scopes string) string {
	all := strings.Fields(scopes)
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestLogout(t *testing.T) {
	h := newHouse(t)
	cases := []struct {
		name  string
		stuck bool
		err   error
		back  []string
	}{
		{"taken back", false, nil, []string{"refresh-1", "access-1"}},
		{"not taken back", true, ErrNotRevoked, []string{"refresh-2"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store := OpenStore(t.TempDir())
			if status, _ := h.post(h.login(store, agree)); status != 200 {
				t.Fatal(status)
			}
			h.stuck, h.back = c.stuck, nil
			err := Logout(t.Context(), store, h.URL+"/mcp", nil)
			if !errors.Is(err, c.err) || err != nil && (strings.Contains(err.Error(), "refresh-") || strings.Contains(err.Error(), "access-")) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			var back []string
			for _, form := range h.back {
				back = append(back, form.Get("token"))
				if form.Get("client_id") != "client-1" {
					t.Errorf("got %v, want the client's ID", form)
				}
			}
			if diff := cmp.Diff(c.back, back); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
			if store.Has(h.URL + "/mcp") {
				t.Error("the login is still there")
			}
			if err := Logout(t.Context(), store, h.URL+"/mcp", nil); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("twice: got %v", err)
			}
			h.revoke()
		})
	}
}

func pemOf(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// TestLoginAsItself: a client that needs no person logs in by secret, by keys, and by what its platform says.
func TestLoginAsItself(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var here *house
	cases := []struct {
		name   string
		change func(*Options)
		grant  string
		key    crypto.Signer
	}{
		{"a secret", func(o *Options) { o.ClientSecret = "s3cr3t" }, "client_credentials", nil},
		{"an EC key", func(o *Options) { o.PrivateKey = pemOf(t, ec) }, "client_credentials", ec},
		{"an Ed25519 key", func(o *Options) { o.PrivateKey = pemOf(t, ed) }, "client_credentials", ed},
		{"an RSA key", func(o *Options) { o.PrivateKey = pemOf(t, rs) }, "client_credentials", rs},
		{"a workload", func(o *Options) { o.Assertion = func() (string, error) { return "of-the-platform", nil } }, "urn:ietf:params:oauth:grant-type:jwt-bearer", nil},
		{"a person of an enterprise", func(o *Options) {
			o.Assertion = func() (string, error) { return "the-id-token", nil }
			o.Identity = &Identity{TokenURL: here.URL + "/exchange", ClientID: "us", ClientSecret: "s3cr3t"}
		}, "urn:ietf:params:oauth:grant-type:jwt-bearer", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			here = h
			o := Options{URL: h.URL + "/mcp", Store: OpenStore(t.TempDir()), ClientID: "me", ClientCredentials: true}
			c.change(&o)
			l, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			h.needs = "read"
			for range 2 {
				if status, body := h.post(l); status != 200 || body != "hello body" {
					t.Fatalf("got %d %s", status, body)
				}
			}
			form := h.forms[0]
			if len(h.forms) != 1 || form.Get("grant_type") != c.grant || form.Get("resource") != h.URL+"/mcp" || form.Get("scope") != "read" {
				t.Errorf("got %v", h.forms)
			}
			if form.Get("assertion") != "" && form.Get("assertion") != "of-the-platform" {
				t.Errorf("got %v", form)
			}
			if c.key != nil {
				checkAssertion(t, form, c.key.Public(), h.URL)
			}
			h.needs = "write" // a login for more needs nobody
			if status, _ := h.post(l); status != 200 || h.forms[1].Get("scope") != "read write" {
				t.Errorf("for more: got %d, %v", status, h.forms[1:])
			}
			if o.Store.Has(o.URL) {
				t.Error("something was kept")
			}
		})
	}
}

func checkAssertion(t *testing.T, form url.Values, key crypto.PublicKey, audience string) {
	t.Helper()
	signed, err := jose.ParseSignedCompact(form.Get("client_assertion"), []jose.SignatureAlgorithm{jose.ES256, jose.EdDSA, jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	body, err := signed.Verify(key)
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Iss, Sub, Aud, Jti string
		Iat, Exp           int64
	}
	if err := json.Unmarshal(body, &claims); err != nil {
		t.Fatal(err)
	}
	if claims.Iss != "me" || claims.Sub != "me" || claims.Aud != audience || claims.Jti == "" || claims.Exp-claims.Iat != 60 {
		t.Errorf("got %s", body)
	}
	if form.Get("client_secret") != "" || form.Get("basic") != "" {
		t.Errorf("got %v", form)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"no client":       {PrivateKey: []byte("x")},
		"nothing":         {ClientID: "me"},
		"no PEM":          {ClientID: "me", PrivateKey: []byte("sec-key-material")},
		"no key":          {ClientID: "me", PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("sec-key-material")})},
		"a curve of none": {ClientID: "me", PrivateKey: pemOf(t, p224)},
	} {
		o.ClientCredentials, o.URL = true, "http://127.0.0.1:1/mcp"
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "sec-key") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
