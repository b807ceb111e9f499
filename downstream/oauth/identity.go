package oauth

import (
	"context"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Identity is the provider who knows the person that an Assertion is about, and whom the authorization servers of an
// enterprise trust.
type Identity struct {
	// TokenURL is where it exchanges tokens.
	TokenURL string
	// ClientID and ClientSecret are ours there; no secret is shown if there is none.
	ClientID, ClientSecret string
}

// exchange gives a person's ID token to the provider and returns what it says to one authorization server for one
// resource (an identity assertion authorization grant).
func (i *Identity) exchange(ctx context.Context, client *http.Client, token string, f *found, scopes []string) (string, error) {
	c := Options{ClientID: i.ClientID, ClientSecret: i.ClientSecret}.credentials()
	t, err := oauthex.ExchangeToken(ctx, i.TokenURL, &oauthex.TokenExchangeRequest{
		RequestedTokenType: oauthex.TokenTypeIDJAG, SubjectTokenType: oauthex.TokenTypeIDToken, SubjectToken: token,
		Audience: f.server.Issuer, Resource: f.resource, Scope: scopes,
	}, c, client)
	if err != nil {
		return "", fmt.Errorf("exchange the ID token: %w", err)
	}
	return t.AccessToken, nil
}
