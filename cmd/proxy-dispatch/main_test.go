package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

// The test binary is also the program and the tests' server, by the name it is started under.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"proxy-dispatch": main,
		"fixture":        func() { os.Exit(fixture.Main(os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			for name, dir := range map[string]string{"HOME": "home", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "TMPDIR": "temp"} {
				dir = filepath.Join(e.WorkDir, "."+dir)
				if err := os.Mkdir(dir, 0o700); err != nil {
					return err
				}
				e.Setenv(name, dir)
			}
			e.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exitsCommand},
	})
}

// exitsCommand is `exits CODE PROGRAM [ARG …]`: the program must end with that code.
func exitsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG …]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = err.Error()
	}
	if got != "exit status "+args[0] && got != args[0] {
		ts.Fatalf("%s: got %s, want exit status %s", args[1], got, args[0])
	}
}
