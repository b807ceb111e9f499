package player

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/downstream"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/oauth"
)

// document is the client metadata that the suites know us by.
const document = "https://conformance-test.local/client-metadata.json"

// login gives a server a login where the scenario is about one. end takes away what it left on disk.
func (p *player) login(scenario string, s *downstream.Server) (end func(), err error) {
	end = func() {}
	if !strings.HasPrefix(scenario, "auth/") {
		return end, nil
	}
	dir, err := os.MkdirTemp("", "player-")
	if err != nil {
		return end, fmt.Errorf("make folder: %w", err)
	}
	end = func() { _ = os.RemoveAll(dir) }
	o := oauth.Options{URL: s.URL, Store: oauth.OpenStore(dir), ClientID: p.given.ClientID, ClientSecret: p.given.ClientSecret}
	switch {
	case strings.HasPrefix(scenario, "auth/client-credentials-"):
		o.ClientCredentials, o.PrivateKey = true, []byte(p.given.PrivateKey)
	case p.given.WorkloadToken != "":
		o.Assertion = func() (string, error) { return p.given.WorkloadToken, nil }
	case p.given.IDToken != "":
		o.Assertion = func() (string, error) { return p.given.IDToken, nil }
		o.Identity = &oauth.Identity{TokenURL: p.given.IdentityURL, ClientID: p.given.IdentityClient}
	default:
		back, err := oauth.ListenForBrowser(0)
		if err != nil {
			return end, err
		}
		end = func() { back.Close(); _ = os.RemoveAll(dir) }
		o.RedirectURL, o.MetadataURL = back.URL, document
		o.Ask = func(ctx context.Context, address string) (oauth.Answer, error) { return browse(ctx, back, address) }
	}
	l, err := oauth.New(o)
	if err != nil {
		return end, err
	}
	s.Login = l.Wrap
	return end, nil
}

// browse is a browser whose person agrees to everything: it goes where it is sent.
func browse(ctx context.Context, back *oauth.Callback, address string) (oauth.Answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return oauth.Answer{}, err
	}
	page, err := http.DefaultClient.Do(r)
	if err != nil {
		return oauth.Answer{}, err
	}
	page.Body.Close()
	return back.Wait(ctx)
}
