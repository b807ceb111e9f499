package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/proxy-dispatch/proxy-dispatch/wholefile"
)

// Store keeps logins as files of mode 0600, one for each server's address, in a folder of mode 0700. It is safe for
// concurrent use, by several processes too.
type Store struct{ dir string }

// OpenStore returns the store in a folder, which need not exist yet.
func OpenStore(dir string) *Store { return &Store{dir} }

// saved is a login as it is kept: all that refreshing a token needs.
type saved struct {
	URL          string        `json:"url"`
	ClientID     string        `json:"clientId"`
	ClientSecret string        `json:"clientSecret,omitempty"`
	TokenURL     string        `json:"tokenUrl"`
	RevokeURL    string        `json:"revokeUrl,omitempty"`
	AuthStyle    int           `json:"authStyle"`
	Scopes       []string      `json:"scopes,omitempty"`
	Token        *oauth2.Token `json:"token"`
}

func (s *Store) path(url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:12])+".json")
}

// Has reports whether there is a login to a server's address.
func (s *Store) Has(url string) bool {
	_, err := os.Stat(s.path(url))
	return err == nil
}

// Remove forgets the login to a server's address; fs.ErrNotExist if there is none.
func (s *Store) Remove(url string) error {
	if err := os.Remove(s.path(url)); err != nil {
		return fmt.Errorf("forget the login: %w", err)
	}
	return nil
}

func (s *Store) load(url string) (*saved, error) {
	data, err := os.ReadFile(s.path(url))
	if err != nil {
		return nil, fmt.Errorf("read the login: %w", err)
	}
	var l saved
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("read the login: %w", err)
	}
	if l.Token == nil || l.URL != url {
		return nil, fmt.Errorf("read the login: %w", fs.ErrNotExist)
	}
	return &l, nil
}

func (s *Store) save(l *saved) error {
	body, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	if err := wholefile.Write(s.path(l.URL), body, 0o600); err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	return nil
}

// keeper is a source of tokens that refreshes them and keeps what it gets.
type keeper struct {
	login  *Login
	config *oauth2.Config
	revoke string // where it is taken back; "" nowhere

	mu  sync.Mutex
	now *oauth2.Token
}

// earlier finds a login of an earlier time, nil if there is none.
func (l *Login) earlier() *keeper {
	s, err := l.o.Store.load(l.o.URL)
	if err != nil || l.o.ClientID != "" && l.o.ClientID != s.ClientID {
		return nil
	}
	return &keeper{login: l, revoke: s.RevokeURL, now: s.Token, config: &oauth2.Config{
		ClientID: s.ClientID, ClientSecret: s.ClientSecret, Scopes: s.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: s.TokenURL, AuthStyle: oauth2.AuthStyle(s.AuthStyle)},
	}}
}

func (k *keeper) save(t *oauth2.Token) error {
	return k.login.o.Store.save(&saved{
		URL: k.login.o.URL, ClientID: k.config.ClientID, ClientSecret: k.config.ClientSecret, TokenURL: k.config.Endpoint.TokenURL,
		RevokeURL: k.revoke, AuthStyle: int(k.config.Endpoint.AuthStyle), Scopes: k.config.Scopes, Token: t,
	})
}

// soon is how long before its end a token is refreshed.
const soon = 30 * time.Second

// Token returns a token that is good for a while yet, refreshed if need be.
func (k *keeper) Token() (*oauth2.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now.Expiry.IsZero() || time.Until(k.now.Expiry) > soon {
		return k.now, nil
	}
	return k.now, k.renew()
}

// refresh gets a new token although the one that was sent seemed good; false if that fails.
func (k *keeper) refresh(sent string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now.AccessToken != sent {
		return true
	}
	return k.renew() == nil
}

var errNoRefresh = errors.New("the login has ended and cannot be refreshed")

// renew refreshes the token, or takes over what another process got. k.mu is held.
func (k *keeper) renew() error {
	if other, err := k.login.o.Store.load(k.login.o.URL); err == nil && other.Token.AccessToken != k.now.AccessToken &&
		(other.Token.Expiry.IsZero() || time.Until(other.Token.Expiry) > soon) {
		k.now = other.Token
		return nil
	}
	if k.now.RefreshToken == "" {
		return errNoRefresh
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ctx = context.WithValue(ctx, oauth2.HTTPClient, k.login.o.Client)
	t, err := k.config.TokenSource(ctx, &oauth2.Token{RefreshToken: k.now.RefreshToken}).Token()
	if err != nil {
		return fmt.Errorf("refresh the login: %w", err)
	}
	k.now = t
	return k.save(t)
}
