package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// IssuerOptions say whose access tokens count. URL and Audience are required.
type IssuerOptions struct {
	// URL is the issuer exactly as it stands in the tokens' `iss`.
	URL string
	// Audience must be among the tokens' `aud`: who the tokens are for, which is us (RFC 8707).
	Audience string
	// KeysURL is where the signing keys are; "" finds it by the issuer's metadata.
	KeysURL string
	// Algorithms are the signatures accepted; nil means the asymmetric ones of JOSE.
	Algorithms []string
	// Scopes must all be granted, or the token is refused with ErrScope.
	Scopes []string
	// Claim names the claim that tells who it is; "" means sub.
	Claim string
	// Skew is how far the clocks may be apart; 0 means 60 s.
	Skew time.Duration
	// Client fetches metadata and keys; nil means one that waits 10 s at most.
	Client *http.Client
	// Now is the time; nil means the clock's.
	Now func() time.Time
}

// asymmetric are the algorithms whose verification needs no secret.
var asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

const (
	fetchPause = 10 * time.Second // between two fetches that unknown keys cause: anybody can send one
	keysAge    = time.Hour        // after which withdrawn keys are noticed although no unknown one came
	maxFetched = 1 << 20          // bytes of metadata or keys
)

// Issuer accepts JWT access tokens (RFC 9068) of one OAuth issuer. Its metadata and keys are fetched at the first token.
// It is a Source.
type Issuer struct {
	o    IssuerOptions
	keys *http.Client // paced

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	since    time.Time // of verifier
	failed   time.Time // of the last try to find the keys
	why      error
}

// NewIssuer checks the options; nothing is fetched.
func NewIssuer(o IssuerOptions) (*Issuer, error) {
	if err := checkURL(o.URL); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	if o.KeysURL != "" {
		if err := checkURL(o.KeysURL); err != nil {
			return nil, fmt.Errorf("keys of the issuer: %w", err)
		}
	}
	if o.Audience == "" {
		return nil, errors.New("issuer: an audience is required: a token for anybody else must not count")
	}
	for _, a := range o.Algorithms {
		if !slices.Contains(asymmetric, a) {
			return nil, fmt.Errorf("issuer: algorithm %q is not one of %s", a, strings.Join(asymmetric, ", "))
		}
	}
	if o.Algorithms == nil {
		o.Algorithms = asymmetric
	}
	if o.Claim == "" {
		o.Claim = "sub"
	}
	if o.Skew == 0 {
		o.Skew = time.Minute
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 10 * time.Second}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	paced := *o.Client
	paced.Transport = &pacer{next: paced.Transport, now: o.Now}
	return &Issuer{o: o, keys: &paced}, nil
}

// checkURL takes https, and http only towards this machine.
func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return errors.New("its URL is malformed")
	}
	local := slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return errors.New("its URL must be https")
	}
	return nil
}

func (i *Issuer) identify(ctx context.Context, credential string) (Identity, error) {
	if strings.Count(credential, ".") != 2 {
		return Identity{}, errOther
	}
	verifier, err := i.ready(ctx)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	token, err := verifier.Verify(ctx, credential)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var claims json.RawMessage
	if err := token.Claims(&claims); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return i.accept(claims)
}

// claimed is what we read of a verified token.
type claimed struct {
	Expires   *json.Number    `json:"exp"`
	NotBefore *json.Number    `json:"nbf"`
	Scope     json.RawMessage `json:"scope"` // a text with spaces (RFC 9068) or a list
	Scp       json.RawMessage `json:"scp"`   // the same by another name
}

// accept checks what the verification of signature, issuer and audience left open.
func (i *Issuer) accept(claims json.RawMessage) (Identity, error) {
	var c claimed
	if err := json.Unmarshal(claims, &c); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	now := i.o.Now()
	switch ends, ok := instant(c.Expires); {
	case !ok:
		return Identity{}, fmt.Errorf("%w: it has no time of expiry", ErrInvalid)
	case now.Add(-i.o.Skew).After(ends):
		return Identity{}, fmt.Errorf("%w: it has expired", ErrInvalid)
	}
	if begins, ok := instant(c.NotBefore); ok && now.Add(i.o.Skew).Before(begins) {
		return Identity{}, fmt.Errorf("%w: it is not valid yet", ErrInvalid)
	}
	scopes := append(words(c.Scope), words(c.Scp)...)
	for _, needed := range i.o.Scopes {
		if !slices.Contains(scopes, needed) {
			return Identity{}, fmt.Errorf("%w: %s is needed", ErrScope, needed)
		}
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(claims, &all); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var principal string
	if err := json.Unmarshal(all[i.o.Claim], &principal); err != nil || principal == "" || len(principal) > 256 {
		return Identity{}, fmt.Errorf("%w: it does not say whose it is", ErrInvalid)
	}
	_, issuer, _ := strings.Cut(i.o.URL, "://")
	return Identity{Principal: principal + "@" + issuer, Scopes: scopes, Claims: claims}, nil
}

func instant(n *json.Number) (time.Time, bool) {
	if n == nil {
		return time.Time{}, false
	}
	seconds, err := n.Float64()
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// words reads a list of scopes in either of its forms.
func words(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.Fields(text)
	}
	var list []string
	_ = json.Unmarshal(raw, &list) // anything else grants nothing
	return list
}

// ready returns what verifies tokens, finding the keys first if need be.
func (i *Issuer) ready(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.o.Now()
	if i.verifier != nil && now.Sub(i.since) < keysAge {
		return i.verifier, nil
	}
	if i.why != nil && now.Sub(i.failed) < fetchPause {
		return nil, i.why
	}
	keys := i.o.KeysURL
	if keys == "" {
		var err error
		if keys, err = i.discover(ctx); err != nil {
			i.failed, i.why = now, err
			return i.verifier, i.unless(err)
		}
	}
	// The keys outlive the request, so they are fetched under a context of their own.
	set := oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), i.keys), keys)
	i.verifier = oidc.NewVerifier(i.o.URL, set, &oidc.Config{
		ClientID: i.o.Audience, SupportedSigningAlgs: i.o.Algorithms, SkipExpiryCheck: true, // accept checks it, with the skew
	})
	i.since, i.why = now, nil
	return i.verifier, nil
}

// unless keeps old keys in use while the issuer cannot be reached.
func (i *Issuer) unless(err error) error {
	if i.verifier != nil {
		return nil
	}
	return err
}

// discover finds the address of the keys: OpenID Connect Discovery 1.0, then RFC 8414.
func (i *Issuer) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(i.o.URL)
	if err != nil {
		return "", err
	}
	oauth := *u
	oauth.Path = "/.well-known/oauth-authorization-server" + strings.TrimSuffix(u.Path, "/")
	for _, at := range []string{strings.TrimSuffix(i.o.URL, "/") + "/.well-known/openid-configuration", oauth.String()} {
		var found struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		if err = i.fetch(ctx, at, &found); err != nil {
			continue
		}
		if found.Issuer != i.o.URL {
			return "", fmt.Errorf("metadata at %s is of issuer %q, not %q", at, found.Issuer, i.o.URL)
		}
		if err := checkURL(found.Keys); err != nil {
			return "", fmt.Errorf("keys of the issuer: %w", err)
		}
		return found.Keys, nil
	}
	return "", fmt.Errorf("find the issuer's keys: %w", err)
}

func (i *Issuer) fetch(ctx context.Context, address string, into any) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := i.o.Client.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", address, answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxFetched)).Decode(into)
}
