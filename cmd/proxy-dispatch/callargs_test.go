package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseCall(t *testing.T) {
	tests := []struct {
		name, words, args string
		line              callLine
	}{
		{name: "nothing", words: "t", args: `{}`, line: callLine{tool: "t"}},
		{name: "object", words: `t {"a":1.10}`, args: `{"a":1.10}`, line: callLine{tool: "t"}},
		{name: "single values", words: "t -a a=1 b=x --c 2 --d=e=f", args: `{"a":"1","b":"x","c":"2","d":"e=f"}`, line: callLine{tool: "t"}},
		{name: "raw values", words: `t a:=1.0 --b:=[1] -a c:="x"`, args: `{"a":1.0,"b":[1],"c":"x"}`, line: callLine{tool: "t"}},
		{name: "flags without value", words: "t --a --b --c 1", args: `{"a":true,"b":true,"c":"1"}`, line: callLine{tool: "t"}},
		{name: "negative number", words: "t --a -1", args: `{"a":"-1"}`, line: callLine{tool: "t"}},
		{name: "repeated", words: "t --a x --b y --a z", args: `{"a":["x","z"],"b":"y"}`, line: callLine{tool: "t"}},
		{name: "single beside the whole", words: `t {"a":1,"b":2} b:=3`, args: `{"a":1,"b":3}`, line: callLine{tool: "t"}},
		{name: "own flags anywhere", words: "--json t --server s --a 1 --type prompt --timeout=2s --spill --dry-run",
			args: `{"a":"1"}`, line: callLine{tool: "t", server: "s", kind: "prompt", timeout: 2 * time.Second, json: true, spill: true, dryRun: true}},
		{name: "the tool's after dashes", words: "t -- --json x --server s", args: `{"json":"x","server":"s"}`, line: callLine{tool: "t"}},
		{name: "html stays", words: "t a=<&>", args: `{"a":"<&>"}`, line: callLine{tool: "t"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line, err := parseCall(strings.Fields(tt.words))
			if err != nil {
				t.Fatal(err)
			}
			args, err := line.arguments(nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.args, string(args)); diff != "" {
				t.Error(diff)
			}
			line.whole, line.single = "", nil
			if diff := cmp.Diff(tt.line, *line, cmp.AllowUnexported(callLine{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseCall(f *testing.F) {
	for _, s := range []string{"t {\"a\":1} -a b=c --d --e f", "t -- --json", "t a:=1 a:=2", "--timeout 1s t =", "t :=1 -a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(in, "@") {
			return // would read files
		}
		line, err := parseCall(strings.Split(in, " "))
		if err == nil {
			_, err = line.arguments(strings.NewReader(""))
		}
		var e *exitError
		if err != nil && (!errors.As(err, &e) || e.code != exitUsage) {
			t.Fatalf("%q: %v is no usage error", in, err)
		}
	})
}
