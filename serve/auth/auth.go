// Package auth says who an agent is from the credential it sends over HTTP.
//
// A credential is a bearer token of our own (TokenFile) or an access token of an OAuth issuer (Issuer). It is read
// from the Authorization header alone, never passed on, and never part of an error or a log line.
package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Sentinels of this package; every error of Authenticate wraps one of them.
var (
	// ErrMissing: the request carries no credential.
	ErrMissing = errors.New("no credential")
	// ErrInvalid: the credential is malformed, unknown, revoked, expired, or meant for somebody else.
	ErrInvalid = errors.New("invalid credential")
	// ErrScope: the credential is good, but lacks a scope that everybody needs here.
	ErrScope = errors.New("insufficient scope")
	// ErrUnavailable: the issuer's keys cannot be had just now.
	ErrUnavailable = errors.New("issuer unavailable")
)

// maxCredential is the longest credential looked at, in bytes.
const maxCredential = 16 << 10

// Identity is who sent a request.
type Identity struct {
	// Principal is unique among all who may come in: a token's name, or SUBJECT@ISSUER without the https:// of the
	// issuer's URL, so that nobody can take the name of somebody whom another source knows.
	Principal string
	// Role names the rights of a token that was made with one; "" leaves them to the principal and its scopes.
	Role string
	// Scopes are those an issuer gave; nil for our own tokens.
	Scopes []string
	// Claims is the JSON object an issuer signed; nil for our own tokens.
	Claims json.RawMessage
}

// Source recognises one kind of credential. Implementations are safe for concurrent use.
type Source interface {
	// identify says whose credential it is. It fails with an error that wraps ErrInvalid, ErrScope or ErrUnavailable,
	// and with errOther for a credential of another kind.
	identify(ctx context.Context, credential string) (Identity, error)
}

// errOther is how a Source leaves a credential to the next one.
var errOther = errors.New("credential of another kind")

// Authenticator asks its sources in turn. It is safe for concurrent use.
type Authenticator struct {
	sources []Source
}

// New returns an Authenticator over sources; without any it lets nobody in.
func New(sources ...Source) *Authenticator { return &Authenticator{sources} }

// Authenticate says who sent the request.
func (a *Authenticator) Authenticate(r *http.Request) (Identity, error) {
	credential, err := bearer(r.Header)
	if err != nil {
		return Identity{}, err
	}
	for _, s := range a.sources {
		who, err := s.identify(r.Context(), credential)
		if !errors.Is(err, errOther) {
			return who, err
		}
	}
	return Identity{}, ErrInvalid
}

// bearer returns the credential of the one Authorization header.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", ErrMissing
	}
	scheme, credential, found := strings.Cut(values[0], " ")
	credential = strings.Trim(credential, " ")
	if len(values) > 1 || !found || !strings.EqualFold(scheme, "Bearer") || credential == "" || len(credential) > maxCredential {
		return "", ErrInvalid
	}
	return credential, nil
}
