package oauth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// ErrNotRevoked is a login that is forgotten here and may be good elsewhere: nobody could be told that it is over.
var ErrNotRevoked = errors.New("the authorization server did not take the login back")

// Logout takes a login back where its authorization server lets us, and forgets it in any case. fs.ErrNotExist if there
// is none; ErrNotRevoked if it is forgotten only. No error holds anything of the login.
func Logout(ctx context.Context, s *Store, server string, client *http.Client) error {
	l, err := s.load(server)
	if gone := s.Remove(server); gone != nil || err != nil {
		if gone == nil && !errors.Is(err, fs.ErrNotExist) {
			return nil // it could not be read, and is no more
		}
		return gone
	}
	if l.RevokeURL == "" {
		return nil
	}
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second}
	}
	// The refresh token first: with it goes all that came of it, at most servers.
	for _, t := range [][2]string{{"refresh_token", l.Token.RefreshToken}, {"access_token", l.Token.AccessToken}} {
		if t[1] == "" {
			continue
		}
		if err := l.revoke(ctx, client, t[0], t[1]); err != nil {
			return fmt.Errorf("%w: %w", ErrNotRevoked, err)
		}
	}
	return nil
}

// revoke tells the authorization server that a token is over (RFC 7009).
func (l *saved) revoke(ctx context.Context, client *http.Client, kind, token string) error {
	form := url.Values{"token": {token}, "token_type_hint": {kind}}
	inHeader := l.ClientSecret != "" && oauth2.AuthStyle(l.AuthStyle) == oauth2.AuthStyleInHeader
	if !inHeader {
		form.Set("client_id", l.ClientID)
		if l.ClientSecret != "" {
			form.Set("client_secret", l.ClientSecret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if inHeader {
		r.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.ClientSecret))
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	drain(answer)
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("HTTP status %d", answer.StatusCode)
	}
	return nil
}
