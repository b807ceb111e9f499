package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
)

// side is a session with the proxy or with a server directly; call hides which.
type side struct {
	*agent.Agent
	home string // where the proxy keeps what it keeps; "" without a proxy
	call func(tool, arguments string) (json.RawMessage, error)
}

// server is one entry of mcpServers.
type server struct {
	name string
	argv []string // nil: the built-in table of orders
}

// through starts the proxy in front of servers, in a home of its own so that nothing is cached from before.
func (r *rig) through(servers ...server) (*side, error) { return r.throughWith("", servers...) }

// throughWith is through with more members of the configuration.
func (r *rig) throughWith(more string, servers ...server) (*side, error) {
	return r.serving(more, nil, servers...)
}

// serving is throughWith with more words for serve.
func (r *rig) serving(more string, words []string, servers ...server) (*side, error) {
	home, err := os.MkdirTemp(r.dir, "h")
	if err != nil {
		return nil, err
	}
	blocks := make([]string, 0, len(servers))
	for _, s := range servers {
		if s.argv == nil {
			blocks = append(blocks, fmt.Sprintf("%q: {\"builtin\": \"dataset\"}", s.name))
			continue
		}
		args, _ := json.Marshal(s.argv[1:])
		blocks = append(blocks, fmt.Sprintf("%q: {\"command\": %q, \"args\": %s}", s.name, s.argv[0], args))
	}
	if more != "" {
		more = ",\n" + more
	}
	file := filepath.Join(home, "proxy-dispatch.yaml")
	if err := os.WriteFile(file, []byte("{\"mcpServers\": {"+strings.Join(blocks, ",\n")+"}"+more+"}"), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(r.ctx, r.proxy, append([]string{"serve", "--config", file}, words...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_CACHE_HOME="+home)
	a, err := agent.Start(cmd)
	if err != nil {
		return nil, err
	}
	s := &side{Agent: a, home: home}
	s.call = func(tool, arguments string) (json.RawMessage, error) {
		return a.Call(r.ctx, "proxy-dispatch", `{"action":"call","tool":"`+tool+`","resultSizeThreshold":0,"arguments":`+arguments+`}`, "")
	}
	return s, r.hello(s)
}

// direct starts a server without the proxy.
func (r *rig) direct(argv ...string) (*side, error) {
	a, err := agent.Start(exec.CommandContext(r.ctx, argv[0], argv[1:]...))
	if err != nil {
		return nil, err
	}
	s := &side{Agent: a}
	s.call = func(tool, arguments string) (json.RawMessage, error) { return a.Call(r.ctx, tool, arguments, "") }
	return s, r.hello(s)
}

func (r *rig) hello(s *side) error {
	if _, err := s.Hello(r.ctx); err != nil {
		return fmt.Errorf("hello: %w\n%s", err, s.Stderr())
	}
	return nil
}

// status reads one line of /proc/PID/status, in bytes; 0 where the system has none.
func status(pid int, key string) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), key+":")
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 10, 64)
	return n << 10
}

// cpuTicks is the user and system time a process used so far, in the kernel's ticks.
func cpuTicks(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	sys, _ := strconv.ParseInt(f[12], 10, 64)
	return user + sys
}
