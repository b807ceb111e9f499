package dispatch

import (
	"strings"
	"testing"
)

func TestDeclarations(t *testing.T) {
	d, _ := newHouse(t, nil)
	ask(t, d, `{"action":"call","tool":"rows","arguments":{"n":2}}`) // its shape is seen
	got := said(ask(t, d, `{"action":"describe","tool":["main/echo","main/rows","other/shared"],"format":"typescript"}`))
	for _, want := range []string{
		"declare const tools: {\n  main: {\n    /** Says a message back. Then more. */\n    echo(args: {", "message: string", "times?: ",
		"}): Promise<any>;", "rows(args: {", "// seen: ", "  other: {\n    shared(args?: ", "\n};",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %q in it", got, want)
		}
	}
	if got := said(ask(t, d, `{"action":"describe","connection":"main","format":"typescript"}`)); !strings.Contains(got, "main (c1)") {
		t.Errorf("of a connection: got %s", got)
	}
}
