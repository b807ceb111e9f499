package dispatch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
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

func TestDeclaredTypes(t *testing.T) {
	schema := func(field string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"filter":{"$ref":"#/$defs/filter"}},"required":["filter"],
			"$defs":{"filter":{"type":"object","properties":{"` + field + `":{"type":"string","description":"kept … as said"},"not":{"$ref":"#/$defs/filter"}}}}}`)
	}
	a := &DescribeAnswer{count: func(s string) int { return len(s) / 4 }, Items: []Described{
		{Connection: "a", Name: "one", Type: catalog.Tool, InputSchema: schema("x")},
		{Connection: "a", Name: "two", Type: catalog.Tool, InputSchema: schema("y")},
	}}
	got := a.declarations()
	want := "type filter = {\n  /** kept … as said */\n  x?: string;\n  not?: filter;\n};\n\n" +
		"type filter2 = {\n  /** kept … as said */\n  y?: string;\n  not?: filter2;\n};\n\n" +
		"declare const tools: {\n  a: {\n    one(args: {\n      filter: filter;\n    }): Promise<any>;\n" +
		"    two(args: {\n      filter: filter2;\n    }): Promise<any>;\n  };\n};"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
