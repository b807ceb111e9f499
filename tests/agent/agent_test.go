package agent_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

func TestMain(m *testing.M) {
	fixture.RunIfAsked()
	os.Exit(m.Run())
}

func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), fixture.EnvKey+"=1")
	return cmd
}

// TestFixture proves the measuring tools themselves: without them exact, no test of the proxy says anything.
func TestFixture(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		t.Run(way, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			a := start(t, way)
			if _, err := a.Hello(ctx); err != nil {
				t.Fatalf("hello: %v", err)
			}
			got, err := a.Call(ctx, "exact", `{}`, "")
			if err != nil || !strings.Contains(string(got), `"structuredContent":{"z":1.10,"a":9007199254740993,"m":{"y":1E400,"b":-0.0}}`) {
				t.Errorf("exact: got %s, %v", got, err)
			}
			got, err = a.Call(ctx, "mirror", `{"b":1.10,"a":9007199254740993}`, "")
			if err != nil || !strings.Contains(string(got), `{\"b\":1.10,\"a\":9007199254740993}`) {
				t.Errorf("mirror: got %s, %v", got, err)
			}
			if _, err = a.Call(ctx, "slow", `{"steps":2,"ms":1}`, `"_meta":{"progressToken":"p"}`); err != nil {
				t.Errorf("slow: %v", err)
			}
			if n := len(a.Notes()); n != 2 {
				t.Errorf("progress: got %d notifications, want 2", n)
			}
			var rpc *agent.RPCError
			if _, err = a.Call(ctx, "rpc_error", `{}`, ""); !errors.As(err, &rpc) {
				t.Errorf("rpc_error: got %v, want an RPCError", err)
			}
		})
	}
}

func start(t *testing.T, way string) *agent.Agent {
	t.Helper()
	if way == "stdio" {
		a, err := agent.Start(command())
		if err != nil {
			t.Fatalf("start: %v", err)
		}
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return a
	}
	cmd := command("--http", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(io.LimitReader(stderr, 4096)).ReadString('\n')
	if err != nil {
		t.Fatalf("read address: %v", err)
	}
	return agent.Dial(strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), nil)
}

func TestRecords(t *testing.T) {
	got := fixture.Records(300)
	want := `[{"id":1,"name":"item-000001","group":"g1","amount":0.10,"note":"record number 1 of the list"},`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %.100s, want it to start with %s", got, want)
	}
}
