// Package everything is the full MCP server of the conformance tests: it speaks both eras of the protocol over stdio and HTTP.
//
// It has every tool, resource, prompt and behaviour that the public suites ask for, and those that our own tests
// of relaying need. It writes its messages by hand and uses no MCP library, so that a library's fault can't hide on both sides.
package everything

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// EnvKey names the environment variable that turns a test binary into this server; see RunIfAsked.
const EnvKey = "PROXY_DISPATCH_EVERYTHING"

// RunIfAsked runs the server and exits if the environment has EnvKey set; otherwise it returns at once.
func RunIfAsked() {
	if os.Getenv(EnvKey) != "" {
		os.Exit(Main(os.Args[1:]))
	}
}

// The revisions spoken: modern has neither handshake nor sessions; legacy is the newest one that has.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

var legacyVersions = []string{legacy, "2025-06-18", "2025-03-26"}

type options struct {
	name, era, http string
	bigIDs          bool
}

// state is what one process remembers; every transport shares it.
type state struct {
	opts  options
	key   []byte // seals request states
	next  atomic.Int64
	tasks tasks
	mu    sync.Mutex // guards all below
	// sessions of the handshake eras, listeners of the other one.
	sessions  map[string]*session
	listeners map[*listener]bool
	tools     bool // the tool that comes and goes is there
	prompts   bool // the prompt that comes and goes is there
	cancelled int
}

func newState(o options) *state {
	s := &state{opts: o, key: randomBytes(32), sessions: map[string]*session{}, listeners: map[*listener]bool{}}
	s.tasks.changed = s.taskChanged
	return s
}

func (s *state) id(prefix string) string { return fmt.Sprintf("%s-%d", prefix, s.next.Add(1)) }

// Main runs the server with command line arguments (without the program's name) and returns the exit code.
// It returns when standard input ends, or over HTTP at SIGTERM.
func Main(args []string) int {
	o := options{}
	f := flag.NewFlagSet("everything", flag.ContinueOnError)
	f.StringVar(&o.name, "name", "everything", "name in serverInfo")
	f.StringVar(&o.era, "era", "both", "legacy, modern or both")
	f.StringVar(&o.http, "http", "", "listen on this address instead of stdio; the URL goes to stderr")
	f.BoolVar(&o.bigIDs, "big-ids", false, "number the own requests beyond what a float64 can tell apart")
	if err := f.Parse(args); err != nil {
		return 2
	}
	if err := run(newState(o), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "everything:", err)
		return 1
	}
	return 0
}

func run(s *state, in io.Reader, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer s.tasks.close()
	if s.opts.http != "" {
		return s.serveHTTP(ctx)
	}
	if err := s.serveLines(ctx, in, out); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// speaks says whether an era is switched on.
func (s *state) speaks(era string) bool { return s.opts.era == "both" || s.opts.era == era }

func (s *state) versions() []string {
	switch s.opts.era {
	case "legacy":
		return legacyVersions
	case "modern":
		return []string{modern}
	}
	return append([]string{modern}, legacyVersions...)
}
