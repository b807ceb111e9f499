package tests

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// provider is an OpenID provider on loopback that lets everybody in who opens its page.
type provider struct {
	*httptest.Server
	t        *testing.T
	key      *ecdsa.PrivateKey
	audience string
	scope    string // asked for last

	mu       sync.Mutex
	verifier map[string]string // by code
	grants   []string
	given    map[string]string // tokens and their scopes
	revoked  []string          // kinds of tokens
}

func newProvider(t *testing.T) *provider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key, verifier: map[string]string{}, given: map[string]string{}}
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}}
	mux := http.NewServeMux()
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	keys.SetIssuer(p.URL)
	mux.Handle("/", keys)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		p.tell(w, 200, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "registration_endpoint": p.URL + "/register",
			"jwks_uri": p.URL + "/keys", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
			"revocation_endpoint": p.URL + "/revoke",
		})
	})
	mux.HandleFunc("POST /revoke", func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.revoked = append(p.revoked, r.Form.Get("token_type_hint"))
		if _, ok := p.given[r.Form.Get("token")]; !ok || r.Form.Get("client_id") != "client-1" {
			p.t.Error("a token that was not given, or of nobody, is taken back")
		}
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		m["client_id"] = "client-1"
		p.tell(w, 201, m)
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	return p
}

func (p *provider) tell(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	p.mu.Lock()
	p.verifier[code] = q.Get("code_challenge")
	p.audience, p.scope = q.Get("resource"), q.Get("scope")
	p.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		p.t.Error(err)
		return
	}
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants = append(p.grants, r.Form.Get("grant_type"))
	if r.Form.Get("grant_type") == "authorization_code" {
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if p.verifier[r.Form.Get("code")] != base64.RawURLEncoding.EncodeToString(sum[:]) {
			p.tell(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
	}
	claims := fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":"alice","exp":%d,"scope":%q,"jti":%q}`, p.URL, p.audience, time.Now().Add(time.Hour).Unix(), p.scope, rand.Text())
	access, refresh := oidctest.SignIDToken(p.key, "k", oidc.ES256, claims), rand.Text()
	p.given[access], p.given[refresh] = p.scope, p.scope
	p.tell(w, 200, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh})
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// proxy is a proxy that lets in who has a token of the provider; it returns its URL.
func (p *provider) proxy(t *testing.T) string {
	inner := newHome(t, "")
	at := freeAddress(t) // which is also what tokens are for
	inner.write(t, config(fmt.Sprintf(`"auth": {"issuers": [{"url": %q, "audience": "http://%s/mcp", "scopes": ["mcp"]}], "roles": {"r": {"principals": ["alice@*"]}}}`,
		p.URL, at), fix("fixture", "--only-echo")))
	return "http://" + listen(t, inner.command(t, "serve", "--config", inner.file, "--http", at)) + "/mcp"
}

// leaked fails for every token that a text holds.
func (p *provider) leaked(where, text string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for token := range p.given {
		if strings.Contains(text, token) {
			p.t.Errorf("%s shows a token", where)
		}
	}
}

// visit runs a command that logs in, and goes where it sends the browser.
func (p *provider) visit(cmd *exec.Cmd) {
	p.t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), p.URL+"/authorize") {
			if resp, err := http.Get(lines.Text()); err != nil || resp.StatusCode != 200 {
				p.t.Errorf("the browser: %v, %v", resp, err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		p.t.Fatalf("login: %v\n%s", err, said.String())
	}
	p.leaked("login", said.String())
}

// TestLogin is a proxy behind a proxy: the inner one asks for tokens of a provider, the outer one gets them.
func TestLogin(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	outer := newHome(t, config("", server{"inner", fmt.Sprintf(`{"url":%q}`, p.proxy(t))}))
	s := outer.serve(t)
	s.do(`{"action":"call","tool":"inner/proxy-dispatch","arguments":{"action":"status"}}`).fails("auth_required", "proxy-dispatch login inner", "Not sent: safe to repeat.")
	if text := s.do(`{"action":"status"}`).text(); !strings.Contains(text, "needs login") {
		t.Errorf("status: %s", text)
	}

	p.visit(outer.command(t, "login", "inner", "--no-browser", "--config", outer.file))
	got := s.do(`{"action":"call","tool":"inner/proxy-dispatch","arguments":{"action":"call","tool":"fixture/echo","arguments":{"message":"through both"}}}`)
	got.ok().wants("through both")

	// Everything that is kept of it is for this user alone.
	root := filepath.Join(outer.dir, "config", "proxy-dispatch", "logins")
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	out, err := outer.command(t, "logout", "inner", "--config", outer.file).CombinedOutput()
	if err != nil {
		t.Errorf("logout: %v %s", err, out)
	}
	p.leaked("logout", string(out))
	p.mu.Lock()
	if got := strings.Join(p.revoked, " "); got != "refresh_token access_token" {
		t.Errorf("taken back: %s", got)
	}
	p.mu.Unlock()
	eventually(t, "it asks again", func() bool {
		a := s.do(`{"action":"call","tool":"inner/proxy-dispatch","arguments":{"action":"status"}}`)
		return strings.HasPrefix(a.text(), "auth_required:")
	})
	for _, wrong := range [][]string{{"login", "nobody"}, {"logout", "inner"}, {"logout", "nobody"}} {
		c := outer.command(t, append(wrong, "--config", outer.file)...)
		if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != 2 {
			t.Errorf("%v: exit code %d: %s", wrong, c.ProcessState.ExitCode(), out)
		}
	}
}

// TestClaims: a server is told the claims that the configuration names, and nothing else of an agent's token.
func TestClaims(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var mu sync.Mutex
	var heard []string
	lib := mcpserver.NewMCPServer("lib", "1")
	lib.AddTool(mcp.NewTool("hi"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("hi"), nil
	})
	inner := mcpserver.NewStreamableHTTPServer(lib)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			mu.Lock()
			heard = append(heard, fmt.Sprint(r.Header))
			mu.Unlock()
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(behind.Close)
	h := newHome(t, config(fmt.Sprintf(`"auth": {"issuers": [{"url": %q, "audience": "me"}]}`, p.URL),
		server{"lib", fmt.Sprintf(`{"url":%q,"claims":{"X-User":"email","X-None":"nothing"}}`, behind.URL)}))
	addr := listen(t, h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0"))
	token := oidctest.SignIDToken(p.key, "k", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"me","sub":"s","email":"ann@example.com","exp":%d}`, p.URL, time.Now().Add(time.Hour).Unix()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	by(t, ctx, addr, token).do(`{"action":"call","tool":"lib/hi"}`).ok().wants("hi")
	mu.Lock()
	defer mu.Unlock()
	if len(heard) != 1 || !strings.Contains(heard[0], "X-User:[ann@example.com]") || strings.Contains(heard[0], "X-None") || strings.Contains(heard[0], token) || strings.Contains(heard[0], "Authorization") {
		t.Errorf("the server heard %s", heard)
	}
}
