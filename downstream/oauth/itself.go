package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// The Go SDK's handler of this grant is not used: it knows secrets only, names no resource, keeps the context of the request that
// met the refusal for later ones, and is not safe for concurrent use.

// assertionLife is how long an assertion of ours is good for.
const assertionLife = time.Minute

// itself logs in as the client itself, without a person: by a secret, by a key, or by what somebody else says of it.
type itself struct {
	o   Options
	key crypto.Signer // nil: the secret is used

	mu      sync.Mutex
	source  oauth2.TokenSource // nil before the first login
	granted []string
}

func (o Options) byItself() (auth.OAuthHandler, error) {
	h := &itself{o: o}
	switch {
	case o.Assertion != nil:
		return h, nil
	case o.ClientID == "":
		return nil, errors.New("client credentials need the client's ID")
	case len(o.PrivateKey) > 0:
		var err error
		h.key, err = parseKey(o.PrivateKey)
		return h, err
	case o.ClientSecret == "":
		return nil, errors.New("client credentials need a secret or a private key")
	}
	return h, nil
}

// TokenSource implements auth.OAuthHandler.
func (h *itself) TokenSource(context.Context) (oauth2.TokenSource, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.source, nil
}

// Authorize implements auth.OAuthHandler.
func (h *itself) Authorize(ctx context.Context, _ *http.Request, refusal *http.Response) error {
	asked := challenges(refusal)
	f, err := discover(ctx, h.o.Client, h.o.URL, asked)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	scopes := h.o.Scopes
	if scopes == nil {
		scopes = strings.Fields(param(asked, "scope"))
		if len(scopes) == 0 {
			scopes = f.scopes
		}
	}
	if refusal.StatusCode == http.StatusForbidden {
		scopes = union(union(h.granted, scopes), strings.Fields(param(asked, "scope")))
	}
	source := oauth2.ReuseTokenSourceWithExpiry(nil, &grant{h, f, scopes}, soon)
	if _, err := source.Token(); err != nil {
		return err
	}
	h.source, h.granted = source, scopes
	return nil
}

// grant gets tokens of one authorization server.
type grant struct {
	*itself
	found  *found
	scopes []string
}

// Token implements oauth2.TokenSource.
func (g *grant) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), oauth2.HTTPClient, g.o.Client), 30*time.Second)
	defer cancel()
	c := clientcredentials.Config{
		ClientID: g.o.ClientID, ClientSecret: g.o.ClientSecret, TokenURL: g.found.server.TokenEndpoint, Scopes: g.scopes,
		EndpointParams: url.Values{"resource": {g.found.resource}}, AuthStyle: styleOf(g.found.server.TokenEndpointAuthMethodsSupported),
	}
	switch {
	case g.o.Assertion != nil:
		assertion, err := g.assertion(ctx)
		if err != nil {
			return nil, fmt.Errorf("get the assertion: %w", err)
		}
		if c.ClientSecret == "" {
			c.AuthStyle = oauth2.AuthStyleInParams
		}
		c.EndpointParams.Set("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
		c.EndpointParams.Set("assertion", assertion)
	case g.key != nil:
		assertion, err := assert(g.key, g.o.ClientID, g.found.server.Issuer)
		if err != nil {
			return nil, fmt.Errorf("sign the assertion: %w", err)
		}
		c.ClientSecret, c.AuthStyle = "", oauth2.AuthStyleInParams
		c.EndpointParams.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		c.EndpointParams.Set("client_assertion", assertion)
	}
	t, err := c.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a token: %w", err)
	}
	return t, nil
}

// assertion is what somebody else says of who we are.
func (g *grant) assertion(ctx context.Context) (string, error) {
	said, err := g.o.Assertion()
	if err != nil || g.o.Identity == nil {
		return said, err
	}
	return g.o.Identity.exchange(ctx, g.o.Client, said, g.found, g.scopes)
}

// styleOf says how to show a secret, by what a token endpoint takes.
func styleOf(methods []string) oauth2.AuthStyle {
	for _, m := range methods {
		switch m {
		case "client_secret_post":
			return oauth2.AuthStyleInParams
		case "client_secret_basic":
			return oauth2.AuthStyleInHeader
		}
	}
	return oauth2.AuthStyleAutoDetect
}

// assert signs who we are, for one authorization server and a minute.
func assert(key crypto.Signer, client, audience string) (string, error) {
	algorithm, err := algorithmOf(key)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", err
	}
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": client, "sub": client, "aud": audience, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

func algorithmOf(key crypto.Signer) (jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return jose.ES256, nil
		case 384:
			return jose.ES384, nil
		case 521:
			return jose.ES512, nil
		}
	case *rsa.PrivateKey:
		return jose.RS256, nil
	case ed25519.PrivateKey:
		return jose.EdDSA, nil
	}
	return "", errKey
}

var errKey = errors.New("the private key is none of RSA, ECDSA and Ed25519 in PEM")

// parseKey reads a key. Its errors show nothing of it.
func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errKey
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if key, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
			if key, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
				return nil, errKey
			}
		}
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errKey
	}
	_, err = algorithmOf(signer)
	return signer, err
}
