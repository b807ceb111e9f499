package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// found is what a server and the authorization server that it trusts say about logins.
type found struct {
	resource string
	scopes   []string // that the server knows
	server   *oauthex.AuthServerMeta
}

// discover asks a server whom it trusts, where its refusal says or at the usual places, and asks that one how.
func discover(ctx context.Context, client *http.Client, server string, refusal []oauthex.Challenge) (*found, error) {
	resource, err := resourceMetadata(ctx, client, server, refusal)
	if err != nil {
		return nil, err
	}
	issuer := resource.AuthorizationServers[0]
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, client)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of %s: %w", issuer, err)
	}
	if meta == nil { // as servers were before there was metadata
		meta = &oauthex.AuthServerMeta{Issuer: issuer, TokenEndpoint: issuer + "/token"}
	}
	return &found{resource.Resource, resource.ScopesSupported, meta}, nil
}

func resourceMetadata(ctx context.Context, client *http.Client, server string, refusal []oauthex.Challenge) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("read the URL: %w", err)
	}
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	const known = "/.well-known/oauth-protected-resource"
	for _, place := range [][2]string{
		{param(refusal, "resource_metadata"), server},
		{root.String() + known + strings.TrimSuffix(u.EscapedPath(), "/"), server},
		{root.String() + known, root.String()},
	} {
		if place[0] == "" {
			continue
		}
		m, err := oauthex.GetProtectedResourceMetadata(ctx, place[0], place[1], client)
		switch {
		case err != nil || m == nil: // it may be at the next place
		case len(m.AuthorizationServers) == 0:
			return nil, errors.New("the server names no authorization server")
		default:
			return m, nil
		}
	}
	return &oauthex.ProtectedResourceMetadata{Resource: server, AuthorizationServers: []string{root.String()}}, nil
}

// challenges are what a refusal asks for.
func challenges(refusal *http.Response) []oauthex.Challenge {
	all, err := oauthex.ParseWWWAuthenticate(refusal.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil // like a refusal that says nothing
	}
	return all
}

func param(all []oauthex.Challenge, name string) string {
	for _, c := range all {
		if v := c.Params[name]; v != "" && c.Scheme == "bearer" {
			return v
		}
	}
	return ""
}

// wantsLogin says that a login may help against a refusal: there is none, it is not taken, or it allows too little.
func wantsLogin(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return true
	case http.StatusForbidden:
		return param(challenges(answer), "error") == "insufficient_scope"
	}
	return false
}

// union keeps the order of both and has nothing twice.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
