package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/everything"
	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/suite"
)

// npmServers is the folder that tests/npm/install filled; the test is skipped without one.
func npmServers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(serversEnv)
	if dir == "" {
		t.Skip("needs npm packages: `make servers`, then " + serversEnv + "=FOLDER; `make ci` does both")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "mcp-server-everything")); err != nil {
		t.Fatalf("%s=%s holds no servers: %v", serversEnv, dir, err)
	}
	return dir
}

// everythingCommand is the full server as a process; args are its own.
func everythingCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(self(t), args...)
	cmd.Env = append(os.Environ(), everything.EnvKey+"=1")
	return cmd
}

// TestConformance runs the public suites against the full server, directly and through the face transparent.
func TestConformance(t *testing.T) {
	t.Parallel()
	place := suite.Place(npmServers(t))
	for _, s := range suite.Suites {
		t.Run(s.Name+" at "+s.Wire, func(t *testing.T) {
			t.Parallel()
			url := "http://" + listen(t, everythingCommand(t, "-http", "127.0.0.1:0")) + "/mcp"
			conformant(t, place, s, url)
		})
		t.Run(s.Name+" at "+s.Wire+" through us", func(t *testing.T) {
			t.Parallel()
			protocol := "legacy"
			if s.Wire == modernVersion {
				protocol = modernVersion
			}
			h := newHome(t, config(`"transparent":{"names":"plain"}`, everythingServer(t, true, protocol)))
			addr := listen(t, h.command(t, "serve", "--config", h.file, "--expose", "transparent", "--http", "127.0.0.1:0"))
			conformant(t, place, s, "http://"+addr+"/mcp")
		})
	}
}

// conformant fails for every scenario that does not pass without a warning.
func conformant(t *testing.T, place suite.Place, s suite.Suite, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	list, err := place.Run(ctx, s, url)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		if !o.Clean() {
			t.Errorf("%s:\n%s", o.Scenario, o.Why())
		}
	}
}
