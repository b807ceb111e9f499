package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Clients are the suites that a client is played with. Those named by requirements have the extensions of the protocol too.
var Clients = []Suite{
	{Name: "0.1.16", Wire: "2025-11-25", Scenarios: 26, pack: "conformance-0.1", args: []string{"--suite", "all"}},
	{Name: "0.2.0-alpha.12", Wire: "2025-11-25", Scenarios: 25, pack: "conformance-0.2", args: []string{"--requirements", "2025-11-25"}},
	{Name: "0.2.0-alpha.12", Wire: "2026-07-28", Scenarios: 39, pack: "conformance-0.2", args: []string{"--requirements", "2026-07-28"}},
}

// Unplayed are the scenarios that our client does not pass, each with the reason.
var Unplayed = map[string]string{
	"auth/2025-03-26-oauth-metadata-backcompat": "metadata whose issuer is not where they were found are not believed (RFC 8414, section 3.3): that is how one authorization server poses as another",
	"auth/dpop":       "the extension DPoP: tokens bound to a key",
	"auth/dpop-nonce": "the extension DPoP: tokens bound to a key",
}

// Play runs a whole suite with a client: a program without spaces in its path, with env added to its environment. Outcomes are as of Run.
func (p Place) Play(ctx context.Context, s Suite, client string, env ...string) ([]Outcome, error) {
	script := filepath.Join(string(p), "node_modules", s.pack, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, p.Node(), append([]string{script, "client", "--command", client, "-o", dir}, s.args...)...)
	cmd.Env = append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && (!failed || ctx.Err() != nil) { // an exit code of 1 tells of failed scenarios
		return nil, fmt.Errorf("play suite %s: %w", s.Name, errors.Join(err, ctx.Err()))
	}
	list, err := played(dir)
	if err == nil && len(list) != s.Scenarios {
		err = fmt.Errorf("suite %s at %s left %d outcomes of %d: %.2000s", s.Name, s.Wire, len(list), s.Scenarios, said)
	}
	return list, err
}

var stampedAnywhere = regexp.MustCompile(`^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// played reads what a suite left of a client: a folder for each scenario, whose name may have folders itself.
func played(dir string) (list []Outcome, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		m := stampedAnywhere.FindStringSubmatch(filepath.ToSlash(name))
		if m == nil {
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		o := Outcome{Scenario: m[1]}
		if err := json.Unmarshal(body, &o.Checks); err != nil {
			return fmt.Errorf("parse outcome of %s: %w", o.Scenario, err)
		}
		list = append(list, o)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	slices.SortFunc(list, func(a, b Outcome) int { return strings.Compare(a.Scenario, b.Scenario) })
	return list, nil
}
