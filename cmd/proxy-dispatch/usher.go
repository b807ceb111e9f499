package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/downstream"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/oauth"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// usher lets the person at an agent log in to servers while a call waits, where the agent's client can show an address. It is safe for concurrent use.
type usher struct {
	logins  *oauth.Store
	servers func() []config.Server // in force

	mu     sync.Mutex
	visits map[string]*visit    // by server: the login under way
	last   map[string]time.Time // by server: when a login succeeded
}

// visit is one login; its result is there when done is closed.
type visit struct {
	done chan struct{}
	err  error
}

var errUninvited = errors.New("nobody at the agent can be asked to log in")

func newUsher(p *program) *usher {
	return &usher{logins: p.logins, servers: func() []config.Server { return p.inForce.Load().Servers }, visits: map[string]*visit{}, last: map[string]time.Time{}}
}

// invited lets the person log in after the refusal of a request that was sent at a time, within the request's own time,
// which is what is left of it afterwards. False: the refusal stands.
func (u *usher) invited(ctx context.Context, person dispatch.Contact, r *dispatch.Request, sent time.Time, refusal error) bool {
	if u.since(r.Server, sent) { // somebody logged in meanwhile
		return true
	}
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	challenge := ""
	if e, ok := errors.AsType[*downstream.ScopeError](refusal); ok {
		challenge = e.Challenge
	}
	if u.visit(ctx, r.Server, challenge, person) != nil || ctx.Err() != nil {
		return false
	}
	if r.Timeout > 0 {
		r.Timeout = max(r.Timeout-time.Since(sent), time.Millisecond)
	}
	return true
}

func (u *usher) since(server string, t time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last[server].After(t)
}

// logIn is invited for a server of which nothing is known yet.
func (u *usher) logIn(ctx context.Context, server string, person dispatch.Contact) error {
	return u.visit(ctx, server, "", person)
}

// visit logs in to a server, or waits for a login to it that is under way.
func (u *usher) visit(ctx context.Context, server, challenge string, person dispatch.Contact) error {
	if person.Ask == nil || rawjson.Member(rawjson.Member(person.Capabilities, "elicitation"), "url") == nil {
		return errUninvited
	}
	s := u.find(server)
	if s == nil {
		return errUninvited
	}
	u.mu.Lock()
	v, others := u.visits[server]
	if !others {
		v = &visit{done: make(chan struct{})}
		u.visits[server] = v
	}
	u.mu.Unlock()
	if others {
		select {
		case <-v.done:
			return v.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	v.err = u.guide(ctx, s, challenge, person)
	u.mu.Lock()
	delete(u.visits, server)
	if v.err == nil {
		u.last[server] = time.Now()
	}
	u.mu.Unlock()
	close(v.done)
	return v.err
}

// find returns the server of a name if a person can log in to it.
func (u *usher) find(name string) *config.Server {
	servers := u.servers()
	for i := range servers {
		s := &servers[i]
		if s.Name != name {
			continue
		}
		for header := range s.Headers {
			if strings.EqualFold(header, "Authorization") {
				return nil
			}
		}
		if s.URL == "" || s.OAuth.ClientCredentials || s.OAuth.AssertionFile != "" {
			return nil
		}
		return s
	}
	return nil
}

// guide goes the way of one login.
func (u *usher) guide(ctx context.Context, s *config.Server, challenge string, person dispatch.Contact) error {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	back, err := oauth.ListenForBrowser(s.OAuth.RedirectPort)
	if err != nil {
		return err
	}
	defer back.Close()
	o, err := loginOptions(s, u.logins)
	if err != nil {
		return err
	}
	o.RedirectURL = back.URL
	o.Ask = func(_ context.Context, address string) (oauth.Answer, error) { // which ends with the call
		return showAddress(ctx, s.Name, person, back, address)
	}
	status, err := knock(ctx, s, o, challenge)
	if err != nil {
		return err
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return fmt.Errorf("%s did not accept the login (HTTP status %d)", s.Name, status)
	}
	return nil
}

// showAddress has the agent's client show an address to the person, and waits for the browser to come back.
func showAddress(ctx context.Context, server string, person dispatch.Contact, back *oauth.Callback, address string) (oauth.Answer, error) {
	id := rand.Text()
	params := fmt.Appendf(nil, `{"mode":"url","message":%s,"url":%s,"elicitationId":%q}`,
		rawjson.Quote("Log in to "+server+" so that the call can go on"), rawjson.Quote(address), id)
	answer, err := person.Ask(ctx, "elicitation/create", params)
	if err != nil {
		return oauth.Answer{}, err
	}
	if action := rawjson.Unquote(rawjson.Member(answer, "action")); action != "accept" {
		return oauth.Answer{}, fmt.Errorf("the person did not want to log in (%.20s)", action)
	}
	a, err := back.Wait(ctx)
	if err == nil && person.Told != nil {
		person.Told("notifications/elicitation/complete", fmt.Appendf(nil, `{"elicitationId":%q}`, id))
	}
	return a, err
}
