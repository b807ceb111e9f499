// Package oauth logs in to servers that ask for it and keeps what they gave.
//
// It is the client of MCP's authorization (OAuth 2.1): discovery, registration, PKCE and the checks of what comes back
// are the Go SDK's; here is what a proxy needs around it: logins that outlive the process, are shared by processes, and
// are asked for only where a person can answer.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Options say how to log in to one server. URL and Store are required.
type Options struct {
	// URL is the server's endpoint.
	URL string
	// Store keeps the login.
	Store *Store
	// ClientID and ClientSecret are of a client that was registered by hand; "" registers one, or shows MetadataURL.
	ClientID, ClientSecret string
	// MetadataURL is the address of our client metadata document, which servers that know them take as the client's ID.
	MetadataURL string
	// Scopes are asked for instead of those that the server names; nil leaves it to the server.
	Scopes []string
	// ClientCredentials logs in as the client itself, without a person. It needs ClientID and ClientSecret or PrivateKey.
	ClientCredentials bool
	// PrivateKey signs who the client is, instead of a secret: RSA, ECDSA or Ed25519 in PEM.
	PrivateKey []byte
	// Assertion gives what proves who runs the client, a signed token of its platform, and logs in with that, without a
	// person. It is asked anew for each token.
	Assertion func() (string, error)
	// Identity makes of an Assertion that is a person's ID token one for the server; nil: it is for the server as it is.
	Identity *Identity
	// RedirectURL is where the person's browser comes back to. "" without Ask.
	RedirectURL string
	// Ask sends the person to an address and returns what the browser brought back. Nil: nobody can be asked, so a
	// server that wants a person stays closed.
	Ask func(ctx context.Context, address string) (Answer, error)
	// Client fetches metadata and tokens; nil means one that waits 30 s at most.
	Client *http.Client
}

// Answer is what a browser brings back from an authorization server.
type Answer struct{ Code, State, Issuer string }

// ErrNobody is the error of a login that needs a person where none can be asked.
var ErrNobody = errors.New("nobody can be asked to log in")

// maxLogin is the longest a login may take.
const maxLogin = 10 * time.Minute

// Login puts the login to one server into its requests. It is safe for concurrent use.
type Login struct {
	o       Options
	handler auth.OAuthHandler

	renewing sync.Mutex // held while somebody logs in or refreshes, which others wait for only if they were refused too
	stepUp   bool       // the login under way is for more than there is; guarded by renewing
	revoke   string     // where the login under way can be taken back; guarded by renewing
	mu       sync.Mutex
	source   *keeper // nil: there is no login
}

// New checks the options and finds an earlier login. No server is asked.
func New(o Options) (*Login, error) {
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 30 * time.Second}
	}
	l := &Login{o: o}
	var err error
	if o.alone() {
		l.handler, err = o.byItself()
	} else {
		l.handler, err = l.byCode()
	}
	if err != nil {
		return nil, fmt.Errorf("log in to %s: %w", o.URL, err)
	}
	return l, nil
}

// alone says that no person is needed.
func (o Options) alone() bool { return o.ClientCredentials || o.Assertion != nil }

func (o Options) credentials() *oauthex.ClientCredentials {
	c := &oauthex.ClientCredentials{ClientID: o.ClientID}
	if o.ClientSecret != "" {
		c.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
	}
	return c
}

// byCode is the handler of the authorization code grant, in which a person is asked.
func (l *Login) byCode() (auth.OAuthHandler, error) {
	o := l.o
	redirect := o.RedirectURL
	if redirect == "" {
		redirect = "http://127.0.0.1/callback" // never used: nobody is asked
	}
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, Client: o.Client, NewTokenSource: l.keep,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if o.Ask == nil {
				return nil, ErrNobody
			}
			a, err := o.Ask(ctx, args.URL)
			return &auth.AuthorizationResult{Code: a.Code, State: a.State, Iss: a.Issuer}, err
		},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{redirect}, ClientName: "proxy-dispatch", GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}},
	}
	if o.ClientID != "" {
		c.PreregisteredClient = o.credentials()
	}
	if o.MetadataURL != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.MetadataURL}
	}
	c.ScopeFilter = l.scopes
	return auth.NewAuthorizationCodeHandler(c)
}

// scopes are those to ask for where a server names some. A login that allows too little is asked for with all it has and
// what is missing.
func (l *Login) scopes(named []string) []string {
	out := named
	if l.o.Scopes != nil {
		out = l.o.Scopes
	}
	if !l.stepUp {
		return out
	}
	if k := l.current(); k != nil {
		out = union(k.config.Scopes, out)
	}
	return union(out, named)
}

// Wrap returns a transport that sends requests through next with the login, and logs in where a server asks for it and
// somebody can be asked. A request that has an Authorization header already is left alone.
func (l *Login) Wrap(next http.RoundTripper) http.RoundTripper { return &carrier{l, next} }

type carrier struct {
	login *Login
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper. A request that was refused is sent again with a refreshed login, and then with
// a new one.
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return c.next.RoundTrip(r)
	}
	token := c.login.token(r.Context())
	answer, err := c.send(r, token)
	for how := unchanged; how != loggedIn && err == nil && wantsLogin(answer); {
		again, ok := repeat(r)
		if !ok {
			break
		}
		if how = c.login.renew(r, answer, token, how == unchanged); how == unchanged {
			break
		}
		drain(answer)
		token = c.login.token(r.Context())
		answer, err = c.send(again, token)
	}
	return answer, err
}

func (c *carrier) send(r *http.Request, token string) (*http.Response, error) {
	if token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return c.next.RoundTrip(r)
}

// repeat returns the request with its body from the beginning; false if that cannot be.
func repeat(r *http.Request) (*http.Request, bool) {
	again := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err == nil
}

func drain(answer *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection serves again
	_ = answer.Body.Close()
}

// token returns what to send, "" if there is nothing.
func (l *Login) token(ctx context.Context) string {
	if l.o.alone() {
		if source, err := l.handler.TokenSource(ctx); err == nil && source != nil {
			if t, err := source.Token(); err == nil {
				return t.AccessToken
			}
		}
		return ""
	}
	k := l.current()
	if k == nil {
		return ""
	}
	t, err := k.Token()
	if err != nil {
		l.forget(k) // another process may have a better one; it is looked for at the next request
		return ""
	}
	return t.AccessToken
}

// current is the login at hand or an earlier one, nil if there is none.
func (l *Login) current() *keeper {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source != nil && !l.o.Store.Has(l.o.URL) {
		l.source = nil // somebody logged out
	}
	if l.source == nil {
		l.source = l.earlier()
	}
	return l.source
}

// another takes over what another process got instead of the token that was sent; false if that is what is kept.
func (l *Login) another(sent string) bool {
	k := l.earlier()
	if k == nil || k.now.AccessToken == sent {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.source = k
	return true
}

func (l *Login) forget(k *keeper) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source == k {
		l.source = nil
	}
}

// change is what became of a login.
type change int

const (
	unchanged change = iota
	refreshed        // or somebody else got another
	loggedIn         // nothing better can be had
)

// renew gets another token after a refusal of the one that was sent. Only the first time refreshing is tried.
func (l *Login) renew(r *http.Request, refusal *http.Response, sent string, first bool) change {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	if now := l.token(r.Context()); first && now != "" && now != sent {
		return refreshed
	}
	if first && refusal.StatusCode == http.StatusForbidden && l.another(sent) {
		return refreshed
	}
	if k := l.current(); k != nil && first && refusal.StatusCode == http.StatusUnauthorized && k.refresh(sent) {
		return refreshed
	}
	if l.o.Ask == nil && !l.o.alone() {
		return unchanged
	}
	if l.authorize(r, refusal) != nil {
		return unchanged
	}
	return loggedIn
}

// authorize logs in. A login takes a person's time; the request that met the refusal may not have it. l.renewing is held.
func (l *Login) authorize(r *http.Request, refusal *http.Response) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), maxLogin)
	defer cancel()
	l.stepUp, l.revoke = refusal.StatusCode == http.StatusForbidden, ""
	if !l.o.alone() {
		if f, err := discover(ctx, l.o.Client, l.o.URL, challenges(refusal)); err == nil {
			l.revoke = f.server.RevocationEndpoint
		}
	}
	copied := *refusal
	copied.Body = http.NoBody // the handler reads the headers, and who gets the refusal may want its body
	return l.handler.Authorize(ctx, r, &copied)
}

// Extend logs in again for what a server missed in the login there is, by the challenge of its refusal.
func (l *Login) Extend(ctx context.Context, challenge string) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.o.URL, nil)
	if err != nil {
		return fmt.Errorf("read the URL: %w", err)
	}
	refusal := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Www-Authenticate": {challenge}}}
	if err := l.authorize(r, refusal); err != nil {
		return fmt.Errorf("log in for more: %w", err)
	}
	return nil
}

// Missing are the scopes that the challenge of a refusal names.
func Missing(challenge string) []string {
	return strings.Fields(param(challenges(&http.Response{Header: http.Header{"Www-Authenticate": {challenge}}}), "scope"))
}

// Challenge is the challenge of a refusal for want of scopes.
func Challenge(scopes []string) string {
	return fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, strings.Join(scopes, " "))
}

// keep is told of each new login.
func (l *Login) keep(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	k := &keeper{login: l, config: c, revoke: l.revoke, now: t} // l.renewing is held by who logs in
	l.mu.Lock()
	l.source = k
	l.mu.Unlock()
	return k, k.save(t)
}
