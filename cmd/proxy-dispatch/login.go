package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/control"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/oauth"
)

// loginTime is how long a person may take.
const loginTime = 10 * time.Minute

// logoutTime is how long an authorization server may take to take a login back.
const logoutTime = 30 * time.Second

type loginFlags struct {
	paste, quiet bool
	scopes       []string
}

func (c *console) loginCommand() *cobra.Command {
	var o loginFlags
	cmd := &cobra.Command{
		Use: "login SERVER", Short: "Log in to a remote server that asks for it", Args: cobra.ExactArgs(1),
		Long: `login asks a remote server who may come in, sends your browser there, and keeps what it gets (mode 0600, in the
user's configuration folder). Running proxies use it at their next request and refresh it by themselves.`,
		Example: `  proxy-dispatch login github
  proxy-dispatch login github --paste     # when the browser runs on another machine`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.login(cmd.Context(), args[0], o) },
	}
	cmd.Flags().BoolVar(&o.paste, "paste", false, "read the address the browser came back to from stdin")
	cmd.Flags().BoolVar(&o.quiet, "no-browser", false, "only print the address to open")
	cmd.Flags().StringArrayVar(&o.scopes, "scope", nil, "log in again for a scope that the login there is lacks")
	return cmd
}

func (c *console) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout SERVER", Short: "Forget the login to a server", Args: cobra.ExactArgs(1),
		Example: "  proxy-dispatch logout github",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.logout(cmd.Context(), args[0]) },
	}
}

// loginStore is where logins are kept; nil without a user's configuration folder.
func loginStore(env config.Env) *oauth.Store {
	if env == nil {
		return nil
	}
	dirs := config.UserDirs(runtime.GOOS, env)
	if len(dirs) == 0 {
		return nil
	}
	return oauth.OpenStore(filepath.Join(dirs[0], "logins"))
}

// loginOptions say how to log in to a server.
func loginOptions(s *config.Server, store *oauth.Store) (oauth.Options, error) {
	o := oauth.Options{
		URL: s.URL, Store: store, ClientID: s.OAuth.ClientID, ClientSecret: s.OAuth.ClientSecret, MetadataURL: s.OAuth.ClientMetadataURL,
		Scopes: s.OAuth.Scopes, ClientCredentials: s.OAuth.ClientCredentials,
	}
	if s.OAuth.PrivateKeyFile != "" {
		var err error
		if o.PrivateKey, err = os.ReadFile(s.OAuth.PrivateKeyFile); err != nil {
			return o, fmt.Errorf("read the private key: %w", err)
		}
	}
	if s.OAuth.AssertionFile != "" {
		o.Assertion = func() (string, error) { // which its platform writes anew from time to time
			text, err := os.ReadFile(s.OAuth.AssertionFile)
			return strings.TrimSpace(string(text)), err
		}
	}
	if i := s.OAuth.IdentityProvider; i.TokenURL != "" {
		o.Identity = &oauth.Identity{TokenURL: i.TokenURL, ClientID: i.ClientID, ClientSecret: i.ClientSecret}
	}
	return o, nil
}

// login puts the login of a remote server into its requests; nil where a header of the configuration does.
func (p *program) login(s *config.Server) func(http.RoundTripper) http.RoundTripper {
	if s.URL == "" || p.logins == nil {
		return nil
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return nil
		}
	}
	o, err := loginOptions(s, p.logins)
	var l *oauth.Login
	if err == nil {
		l, err = oauth.New(o)
	}
	if err != nil {
		p.log.Warn("no login", "server", s.Name, "why", err)
		return nil
	}
	return l.Wrap
}

// remote finds the remote server of a name in the configuration.
func (c *console) remote(name string) (*config.Config, *config.Server, *oauth.Store, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, nil, nil, err
	}
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		switch {
		case s.Name != name:
		case s.URL == "":
			return nil, nil, nil, usage("server %s is not a remote one: there is nothing to log in to", name)
		case s.Unset != nil:
			return nil, nil, nil, usage("server %s: %w", name, s.Unset)
		default:
			store := loginStore(c.env)
			if store == nil {
				return nil, nil, nil, usage("there is no user's configuration folder to keep a login in")
			}
			return cfg, s, store, nil
		}
	}
	return nil, nil, nil, usage("there is no server %q", name)
}

func (c *console) login(ctx context.Context, name string, f loginFlags) error {
	cfg, s, store, err := c.remote(name)
	if err != nil {
		return err
	}
	back, err := oauth.ListenForBrowser(s.OAuth.RedirectPort)
	if err != nil {
		return &exitError{exitFailed, err}
	}
	defer back.Close()
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	o, err := loginOptions(s, store)
	if err != nil {
		return usage("%w", err)
	}
	o.RedirectURL = back.URL
	asked := false
	o.Ask = func(ctx context.Context, address string) (oauth.Answer, error) {
		asked = true
		c.say("Open this address to log in to %s:\n%s", name, address)
		if f.paste {
			c.say("Then paste the address the browser came back to:")
			return c.pasted()
		}
		if !f.quiet {
			openBrowser(ctx, address)
		}
		return back.Wait(ctx)
	}
	challenge := ""
	if len(f.scopes) > 0 && store.Has(s.URL) {
		challenge = oauth.Challenge(f.scopes)
	}
	status, err := knock(ctx, s, o, challenge)
	switch {
	case err != nil:
		return &exitError{exitUnreachable, err}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &exitError{exitFailed, fmt.Errorf("%s did not accept the login (HTTP status %d)", name, status)}
	case !asked && !store.Has(s.URL) && !s.OAuth.ClientCredentials && o.Assertion == nil:
		c.say("%s asks for no login.", name)
		return nil
	}
	c.say("logged in: %s", name)
	return c.tellProxies(ctx, cfg, func(p control.Client) error { return p.Restart(ctx, name) })
}

// knock sends a server the first request of a session, through a login, and returns the HTTP status. A challenge is
// answered before.
func knock(ctx context.Context, s *config.Server, o oauth.Options, challenge string) (int, error) {
	l, err := oauth.New(o)
	if err != nil {
		return 0, err
	}
	if challenge != "" {
		if err := l.Extend(ctx, challenge); err != nil {
			return 0, err
		}
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"proxy-dispatch","version":"1"}}}`
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(hello))
	if err != nil {
		return 0, err
	}
	for name, value := range s.Headers {
		q.Header.Set(name, value)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := l.Wrap(http.DefaultTransport).RoundTrip(q)
	if err != nil {
		return 0, fmt.Errorf("reach %s: %w", s.Name, err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, nil
}

// pasted reads one line that the person pasted.
func (c *console) pasted() (oauth.Answer, error) {
	line, err := bufio.NewReader(io.LimitReader(c.in, 64<<10)).ReadString('\n')
	if err != nil && line == "" {
		return oauth.Answer{}, fmt.Errorf("read the address: %w", err)
	}
	return oauth.Pasted(strings.TrimSpace(line))
}

// openBrowser tries to open an address; the person has it on the screen as well.
func openBrowser(ctx context.Context, address string) {
	command := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], address)...)
	_ = cmd.Run() // where there is no browser the person opens the address by hand
}

func (c *console) logout(ctx context.Context, name string) error {
	cfg, s, store, err := c.remote(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, logoutTime)
	defer cancel()
	switch err := oauth.Logout(ctx, store, s.URL, nil); {
	case errors.Is(err, fs.ErrNotExist):
		return usage("there is no login to %s", name)
	case errors.Is(err, oauth.ErrNotRevoked):
		c.say("logged out here, but %v", err)
	case err != nil:
		return &exitError{exitFailed, err}
	default:
		c.say("logged out: %s", name)
	}
	return c.tellProxies(ctx, cfg, func(p control.Client) error { return p.Restart(ctx, name) })
}
