package tests

import (
	"context"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/player"
	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/suite"
)

// TestConformanceAsClient plays the client scenarios of the public suites with what the proxy reaches servers with.
func TestConformanceAsClient(t *testing.T) {
	t.Parallel()
	place := suite.Place(npmServers(t))
	for _, s := range suite.Clients {
		t.Run(s.Name+" at "+s.Wire, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			list, err := place.Play(ctx, s, self(t), player.EnvKey+"=1")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range list {
				_, unplayed := suite.Unplayed[o.Scenario]
				switch {
				case !unplayed && !o.Clean():
					t.Errorf("%s:\n%s", o.Scenario, o.Why())
				case unplayed && o.Passed():
					t.Errorf("%s passes: it need not be listed as unplayed", o.Scenario)
				}
			}
		})
	}
}
