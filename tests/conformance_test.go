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

// TestConformance runs the public suites against the full server.
func TestConformance(t *testing.T) {
	t.Parallel()
	place := suite.Place(npmServers(t))
	for _, s := range suite.Suites {
		t.Run(s.Name+" at "+s.Wire, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			direct, err := place.Run(ctx, s, "http://"+listen(t, everythingCommand(t, "-http", "127.0.0.1:0"))+"/mcp")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range direct {
				if !o.Clean() {
					t.Errorf("directly, %s:\n%s", o.Scenario, o.Why())
				}
			}
		})
	}
}
