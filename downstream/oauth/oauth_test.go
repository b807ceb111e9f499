package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// house is a server that wants a login, and the authorization server it trusts.
type house struct {
	*httptest.Server
	t     *testing.T
	mu    sync.Mutex
	good  map[string]bool // access tokens that the server takes
	asked []string
	made  int
	// life is how long tokens last, in seconds; 0 says nothing of it.
	life   int
	refuse bool              // the token endpoint refuses to refresh
	deaf   bool              // the server takes no refreshed token
	needs  string            // a scope that the server wants
	scope  string            // that a person agreed to last
	scopes map[string]string // of tokens
	posts  int               // requests to the server
	forms  []url.Values      // to the token endpoint
	back   []url.Values      // tokens taken back
	stuck  bool              // nothing is taken back
}

func newHouse(t *testing.T) *house {
	h := &house{t: t, good: map[string]bool{}, scopes: map[string]string{}}
	mux := http.NewServeMux()
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	tell := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		h.mu.Lock()
		h.posts++
		ok, enough, needs := h.good[token], strings.Contains(" "+h.scopes[token]+" ", " "+h.needs+" ") || h.needs == "", h.needs
		h.mu.Unlock()
		if ok && !enough {
			if needs != "nothing helps" {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, needs))
			}
			http.Error(w, "too little", http.StatusForbidden)
			return
		}
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+h.URL+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, "hello %s", body)
	})
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, map[string]any{"resource": h.URL + "/mcp", "authorization_servers": []string{h.URL}, "scopes_supported": []string{"read"}})
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, map[string]any{
			"issuer": h.URL, "authorization_endpoint": h.URL + "/authorize", "token_endpoint": h.URL + "/token", "registration_endpoint": h.URL + "/register",
			"jwks_uri": h.URL + "/keys", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
			"revocation_endpoint": h.URL + "/revoke",
		})
	})
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.back = append(h.back, r.PostForm)
		if h.stuck {
			http.Error(w, r.PostForm.Get("token"), http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("POST /exchange", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		f := r.PostForm
		if f.Get("subject_token") != "the-id-token" || f.Get("audience") != h.URL || f.Get("resource") != h.URL+"/mcp" || f.Get("client_id") != "us" {
			t.Errorf("exchange: got %v", f)
		}
		tell(w, map[string]any{"access_token": "of-the-platform", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A"})
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		m["client_id"] = "client-1"
		w.WriteHeader(http.StatusCreated)
		tell(w, m)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked = append(h.asked, r.Form.Get("grant_type"))
		if id, secret, basic := r.BasicAuth(); basic {
			r.PostForm.Set("basic", id+" "+secret)
		}
		h.forms = append(h.forms, r.PostForm)
		if r.Form.Get("grant_type") == "refresh_token" && (h.refuse || r.Form.Get("refresh_token") != fmt.Sprint("refresh-", h.made)) {
			w.WriteHeader(http.StatusBadRequest)
			tell(w, map[string]any{"error": "invalid_grant"})
			return
		}
		if r.Form.Get("grant_type") == "authorization_code" && r.Form.Get("code_verifier") == "" {
			t.Error("no PKCE")
		}
		h.made++
		token := fmt.Sprint("access-", h.made)
		h.good = map[string]bool{token: !h.deaf || r.Form.Get("grant_type") != "refresh_token"}
		h.scopes[token] = h.scope
		if asked := r.Form.Get("scope"); asked != "" {
			h.scopes[token] = asked
		}
		out := map[string]any{"access_token": token, "refresh_token": fmt.Sprint("refresh-", h.made), "token_type": "Bearer"}
		if h.life > 0 {
			out["expires_in"] = h.life
		}
		tell(w, out)
	})
	return h
}

func (h *house) revoke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.good = map[string]bool{}
}

func (h *house) grants() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.asked, " ")
}

// agree is a person who agrees to everything.
func agree(_ context.Context, address string) (Answer, error) {
	u, err := url.Parse(address)
	return Answer{Code: "the-code", State: u.Query().Get("state")}, err
}

func (h *house) post(l *Login) (int, string) {
	h.t.Helper()
	client := &http.Client{Transport: l.Wrap(http.DefaultTransport)}
	resp, err := client.Post(h.URL+"/mcp", "application/json", strings.NewReader("body"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func (h *house) login(store *Store, ask func(context.Context, string) (Answer, error)) *Login {
	h.t.Helper()
	l, err := New(Options{URL: h.URL + "/mcp", Store: store, Ask: ask, RedirectURL: "http://127.0.0.1:1/callback"})
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

func TestLogin(t *testing.T) {
	h := newHouse(t)
	dir := filepath.Join(t.TempDir(), "logins")
	store := OpenStore(dir)
	serving := h.login(store, nil)
	if status, body := h.post(serving); status != 401 || !strings.Contains(body, "who are you?") {
		t.Errorf("nobody to ask: got %d %s, want the server's own 401", status, body)
	}
	if status, body := h.post(h.login(store, agree)); status != 200 || body != "hello body" {
		t.Fatalf("with a person: got %d %s", status, body)
	}
	if status, body := h.post(serving); status != 200 || body != "hello body" {
		t.Errorf("another process, afterwards: got %d %s", status, body)
	}
	if status, _ := h.post(h.login(OpenStore(dir), nil)); status != 200 {
		t.Errorf("a later process: got %d", status)
	}
	if got := h.grants(); got != "authorization_code" {
		t.Errorf("got grants %s", got)
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 1 {
		t.Fatalf("got %d files", len(files))
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	if !store.Has(h.URL + "/mcp") {
		t.Error("the store does not know the login")
	}
	if err := store.Remove(h.URL + "/mcp"); err != nil {
		t.Error(err)
	}
	if err := store.Remove(h.URL + "/mcp"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: got %v", err)
	}
	if status, _ := h.post(h.login(store, nil)); status != 401 {
		t.Errorf("after logout: got %d", status)
	}
}

func TestRefresh(t *testing.T) {
	cases := []struct {
		name   string
		life   int
		revoke bool
		refuse bool
		status int
		grants string
	}{
		{"good for long", 3600, false, false, 200, "authorization_code"},
		{"soon over", 5, false, false, 200, "authorization_code refresh_token"},
		{"taken back before its time", 3600, true, false, 200, "authorization_code refresh_token"},
		{"not to be refreshed", 3600, true, true, 401, "authorization_code refresh_token"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			h.life = 3600
			store := OpenStore(t.TempDir())
			if status, _ := h.post(h.login(store, agree)); status != 200 {
				t.Fatal(status)
			}
			kept, err := store.load(h.URL + "/mcp")
			if err != nil {
				t.Fatal(err)
			}
			kept.Token.Expiry = time.Now().Add(time.Duration(c.life) * time.Second)
			if err := store.save(kept); err != nil {
				t.Fatal(err)
			}
			h.mu.Lock()
			h.refuse = c.refuse
			h.mu.Unlock()
			if c.revoke {
				h.revoke()
			}
			if status, _ := h.post(h.login(store, nil)); status != c.status {
				t.Errorf("got %d, want %d", status, c.status)
			}
			if got := h.grants(); got != c.grants {
				t.Errorf("got grants %s, want %s", got, c.grants)
			}
		})
	}
}

// TestRefreshOnce: many requests and two processes at once cost one refresh, or take over what the other got.
func TestRefreshOnce(t *testing.T) {
	h := newHouse(t)
	h.life = 3600
	store := OpenStore(t.TempDir())
	if status, _ := h.post(h.login(store, agree)); status != 200 {
		t.Fatal(status)
	}
	h.revoke()
	one, two := h.login(store, nil), h.login(store, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { h.post(one) })
	}
	all.Wait()
	if status, _ := h.post(two); status != 200 {
		t.Errorf("the other process: got %d", status)
	}
	if got := h.grants(); got != "authorization_code refresh_token" {
		t.Errorf("got grants %s, want one refresh", got)
	}
}

func TestLoginKeepsOut(t *testing.T) {
	h := newHouse(t)
	cases := []struct {
		name string
		ask  func(context.Context, string) (Answer, error)
	}{
		{"a wrong state", func(context.Context, string) (Answer, error) { return Answer{Code: "c", State: "made-up"}, nil }},
		{"a person who does not want to", func(context.Context, string) (Answer, error) { return Answer{}, errors.New("no") }},
		{"another issuer", func(ctx context.Context, address string) (Answer, error) {
			a, err := agree(ctx, address)
			a.Issuer = "https://evil.example"
			return a, err
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store := OpenStore(t.TempDir())
			if status, body := h.post(h.login(store, c.ask)); status != 401 || !strings.Contains(body, "who are you?") {
				t.Errorf("got %d %s, want the server's 401", status, body)
			}
			if store.Has(h.URL + "/mcp") {
				t.Error("something was kept")
			}
		})
	}
}

func TestOwnAuthorizationIsLeftAlone(t *testing.T) {
	h := newHouse(t)
	r, _ := http.NewRequest(http.MethodPost, h.URL+"/mcp", strings.NewReader("x"))
	r.Header.Set("Authorization", "Bearer mine")
	resp, err := h.login(OpenStore(t.TempDir()), agree).Wrap(http.DefaultTransport).RoundTrip(r)
	if err != nil || resp.StatusCode != 401 || h.grants() != "" {
		t.Errorf("got %v, %v, grants %q", resp, err, h.grants())
	}
}

func TestCallback(t *testing.T) {
	cases := []struct{ name, query, code, want string }{
		{"a code", "?code=c&state=s&iss=i", "c", "You are logged in"},
		{"a refusal", "?error=access_denied&error_description=<b>no</b>", "", "&lt;b&gt;no"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			back, err := ListenForBrowser(0)
			if err != nil {
				t.Fatal(err)
			}
			defer back.Close()
			resp, err := http.Get(back.URL + c.query)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.Contains(string(body), c.want) {
				t.Errorf("got %s", body)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if a, err := back.Wait(ctx); a.Code != c.code || (err == nil) != (c.code != "") {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}

func FuzzPasted(f *testing.F) {
	for _, s := range []string{"", "http://127.0.0.1:1/callback?code=c&state=s", "?code=c", "%", "http://x/?error=e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := Pasted(s); err == nil && a.Code == "" {
			t.Errorf("%q gave no code and no error", s)
		}
	})
}
