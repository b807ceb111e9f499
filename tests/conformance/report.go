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
if none of its checks failed. In the third column the server stands behind us over HTTP and speaks the era of the suite, in the fourth it
is a process, and in the last one it speaks the other era, so that what only one era has can't be there.

`

func report(out io.Writer, table []measured) error {
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
		b.WriteString("Everything passes, without a warning.\n")
		return
	}
	b.WriteString("| suite | revision | scenario | what the suite saw |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n")
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
