package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/suite"
)

const head = `# Conformance

Written by ` + "`make conformance`" + `: the public suites (npm ` + "`@modelcontextprotocol/conformance`" + `) against a full server of our own
(tests/conformance/everything), once directly and then through the face ` + "`transparent`" + ` with ` + "`names: plain`" + ` over HTTP. A scenario counts
if none of its checks failed. "Through us": the server is reached over HTTP and speaks the revision of the suite; then it is a process that
does; in the last column it speaks the other era.

`

const tail = `
## What is checked here as ours
The suites can't tell what a relay says from what it passes on. These scenarios look at what we say ourselves, whatever stands behind us:
server-initialize, server-session-lifecycle, ping, server-sse-polling and server-sse-multiple-streams (sessions and streams that can be
resumed), dns-rebinding-protection, server-stateless (discover, ` + "`_meta`" + `, versions, unknown methods, subscriptions), http-header-validation,
http-custom-header-server-validation and tasks-request-headers (headers against bodies), caching (` + "`ttlMs`" + `, ` + "`cacheScope`" + `), and of the
input-required-result scenarios the state, which is ours and refused when it was changed.

## What a server of the other era can't have
Tasks as an extension, several questions in one result under keys of the server's choice, and refusals for what one request's agent can't do
came with 2026-07-28. An older server behind us asks one question after the other and knows one agent per session, so its tools answer, but
not in the form that these scenarios want.
`

func report(out io.Writer, table []measured, clients string) error {
	var b strings.Builder
	b.WriteString(head + "| suite | revision |")
	for _, w := range ways {
		b.WriteString(" " + w.name + " |")
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(ways)) + "\n")
	for _, m := range table {
		fmt.Fprintf(&b, "| %s | %s |", m.Name, m.Wire)
		for _, list := range m.ways {
			fmt.Fprintf(&b, " %d/%d |", suite.Passed(list), m.Scenarios)
		}
		b.WriteString("\n")
	}
	for i, w := range ways {
		section(&b, w, i, table)
	}
	b.WriteString(tail + clients)
	_, err := io.WriteString(out, b.String())
	return err
}

// section lists what did not pass along one way, or passed with a warning.
func section(b *strings.Builder, w way, i int, table []measured) {
	var rows []string
	for _, m := range table {
		for _, o := range m.ways[i] {
			if !o.Clean() {
				rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", m.Name, m.Wire, o.Scenario, cell(o)))
			}
		}
	}
	fmt.Fprintf(b, "\n## %s%s\n", strings.ToUpper(w.name[:1]), w.name[1:])
	if len(rows) == 0 {
		b.WriteString("Everything passes, without a warning.")
	} else {
		b.WriteString("| suite | revision | scenario | what the suite saw |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n")
	}
	if seen := lookedOn(i, table); len(seen) > 0 {
		b.WriteString("\nCounted, though the suite proved nothing with them: " + strings.Join(seen, "; ") + ".")
	}
	b.WriteString("\n")
}

// lookedOn lists the scenarios that passed along one way without a single successful check.
func lookedOn(i int, table []measured) (list []string) {
	for _, m := range table {
		for _, o := range m.ways[i] {
			if o.Passed() && !o.Proven() {
				list = append(list, fmt.Sprintf("%s of %s at %s (%s)", o.Scenario, m.Name, m.Wire, o.Less()))
			}
		}
	}
	return list
}

const cellSize = 400

func cell(o suite.Outcome) string {
	why := strings.ReplaceAll(o.Why(), "|", `\|`)
	why = strings.ReplaceAll(why, "\n", "; ")
	if len(why) > cellSize {
		why = strings.ToValidUTF8(why[:cellSize], "") + " …"
	}
	return why
}
