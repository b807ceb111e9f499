package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/serve/auth"
)

func (c *console) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens by which agents come in over HTTP",
		Long: `token keeps the bearer tokens of agents. A token is shown once, when it is made; its file (auth.tokens, else
tokens.json in the user's configuration folder) holds only its hash. A serving proxy notices changes at once.
Tokens count where the configuration has the key auth (auth: {} is enough).`,
		Example: `  proxy-dispatch token create ci --role reader --expires 90d
  proxy-dispatch token list
  proxy-dispatch token revoke ci`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.tokenCreateCommand(), c.tokenListCommand(), &cobra.Command{
		Use: "revoke NAME", Short: "Let a token in no longer", Args: cobra.ExactArgs(1),
		Example: "  proxy-dispatch token revoke ci",
		RunE: func(_ *cobra.Command, args []string) error {
			file, _, err := c.tokens()
			if err != nil {
				return err
			}
			if err := file.Revoke(args[0]); err != nil {
				return tokenError(err)
			}
			c.say("revoked: %s", args[0])
			return nil
		},
	})
	return cmd
}

func (c *console) tokenCreateCommand() *cobra.Command {
	var role, expires string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a token and print it, this once", Args: cobra.ExactArgs(1),
		Example: "  proxy-dispatch token create ci --role reader --expires 90d",
		RunE:    func(_ *cobra.Command, args []string) error { return c.createToken(args[0], role, expires) },
	}
	cmd.Flags().StringVar(&role, "role", "", "role of the configuration (auth.roles) whose rights it has")
	cmd.Flags().StringVar(&expires, "expires", "", "how long it lasts, such as 12h or 90d (default: until revoked)")
	return cmd
}

func (c *console) createToken(name, role, expires string) error {
	life, err := parseLife(expires)
	if err != nil {
		return err
	}
	file, cfg, err := c.tokens()
	if err != nil {
		return err
	}
	if role != "" && !slices.ContainsFunc(cfg.Auth.Roles, func(r config.Role) bool { return r.Name == role }) {
		return usage("the configuration has no role %q in auth.roles", role)
	}
	token, err := file.Create(name, role, life)
	if err != nil {
		return tokenError(err)
	}
	c.say("The token of %s, shown this once; send it as `Authorization: Bearer TOKEN`:", name)
	if role == "" && len(cfg.Auth.Roles) > 0 {
		c.say("It has no --role: it is refused unless a role of auth.roles names %s, or there is one named default.", name)
	}
	if !cfg.Auth.On {
		c.say("The configuration has no key auth yet, so nobody asks for it.")
	}
	_, err = fmt.Fprintln(c.out, token)
	return err
}

func (c *console) tokenListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens, without what they are", Args: cobra.NoArgs,
		Example: "  proxy-dispatch token list --json",
		RunE:    func(*cobra.Command, []string) error { return c.listTokens() },
	}
	c.wantsJSON(cmd)
	return cmd
}

// listedToken is a token in `token list --json`.
type listedToken struct {
	Name    string     `json:"name"`
	Role    string     `json:"role,omitempty"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Expired bool       `json:"expired,omitempty"`
}

func (c *console) listTokens() error {
	file, _, err := c.tokens()
	if err != nil {
		return err
	}
	tokens, err := file.List()
	if err != nil {
		return tokenError(err)
	}
	list := make([]listedToken, len(tokens))
	for i, t := range tokens {
		list[i] = listedToken{t.Name, t.Role, t.Created, t.Expires, t.Expires != nil && !time.Now().Before(*t.Expires)}
	}
	if c.json {
		return c.showJSON(list)
	}
	if len(list) == 0 {
		c.say("no tokens")
		return nil
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tROLE\tCREATED\tEXPIRES")
	for _, t := range list {
		expires := "never"
		if t.Expires != nil {
			expires = t.Expires.Format(time.RFC3339)
		}
		if t.Expired {
			expires += " (expired)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, cmp.Or(t.Role, "-"), t.Created.Format(time.RFC3339), expires)
	}
	return w.Flush()
}

// tokens opens the file of tokens. A configuration is not needed.
func (c *console) tokens() (*auth.TokenFile, *config.Config, error) {
	cfg, err := c.load()
	if errors.Is(err, config.ErrNotFound) {
		cfg, err = &config.Config{}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	path, err := tokensPath(cfg, c.env)
	if err != nil {
		return nil, nil, err
	}
	return auth.OpenTokens(path), cfg, nil
}

// tokensPath is where the tokens of a configuration are.
func tokensPath(cfg *config.Config, env config.Env) (string, error) {
	if cfg.Auth.Tokens != "" {
		return cfg.Auth.Tokens, nil
	}
	dirs := config.UserDirs(runtime.GOOS, env)
	if len(dirs) == 0 {
		return "", usage("there is no user's configuration folder: set auth.tokens")
	}
	return filepath.Join(dirs[0], "tokens.json"), nil
}

// tokenError makes wrong names wrong usage, and the rest a failure.
func tokenError(err error) error {
	if errors.Is(err, auth.ErrTokenExists) || errors.Is(err, auth.ErrNoToken) || errors.Is(err, auth.ErrTokenName) {
		return usage("%w", err)
	}
	return &exitError{exitFailed, err}
}

// parseLife reads a duration that may be in days.
func parseLife(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	life, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		life = time.Duration(n * 24 * float64(time.Hour))
	}
	if err != nil || life <= 0 {
		return 0, usage("--expires must be a duration like 12h or 90d, not %q", text)
	}
	return life, nil
}
