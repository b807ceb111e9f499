package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/suite"
)

const clientsHead = `
## As a client
The suites' client scenarios, played by a small program (tests/conformance/cmd/client) on ` + "`downstream` and `downstream/oauth`" + `, with which the proxy
reaches servers. Its person agrees to everything; its browser comes back to the address that a login waits at. Extensions of the protocol
are counted in the alpha's suites.

| suite | revision | passed |
| --- | --- | --- |
`

// clients plays the client's scenarios and says what became of them.
func (o options) clients(ctx context.Context) (string, error) {
	client, err := filepath.Abs(o.client)
	if err != nil {
		return "", fmt.Errorf("find the client: %w", err)
	}
	var b, rest strings.Builder
	b.WriteString(clientsHead)
	for _, s := range suite.Clients {
		list, err := suite.Place(o.servers).Play(ctx, s, client)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(os.Stderr, "%s at %s, as a client: %d of %d\n", s.Name, s.Wire, suite.Passed(list), s.Scenarios)
		fmt.Fprintf(&b, "| %s | %s | %d/%d |\n", s.Name, s.Wire, suite.Passed(list), s.Scenarios)
		for _, out := range list {
			if _, known := suite.Unplayed[out.Scenario]; !out.Clean() && !known {
				fmt.Fprintf(&rest, "- %s of %s at %s: %s\n", out.Scenario, s.Name, s.Wire, cell(out))
			}
		}
	}
	b.WriteString("\nNot passed:\n")
	for _, name := range slices.Sorted(maps.Keys(suite.Unplayed)) {
		fmt.Fprintf(&b, "- %s: %s.\n", name, suite.Unplayed[name])
	}
	return b.String() + rest.String(), nil
}
