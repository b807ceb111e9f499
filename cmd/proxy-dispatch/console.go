package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // the call failed
	exitUsage       = 2 // wrong usage or configuration
	exitUnreachable = 3 // a server could not be reached
)

// exitError ends the program with a code; what there was to say has been said if err is nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage is an error in how the program was asked.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// console is what commands may touch of the world outside: results go to out, words for people to err.
type console struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) (string, bool)

	configPath string // --config
	verbose    bool   // --verbose
	json       bool   // --json of the command that runs
	redact     func(string) string
}

// execute runs one command line and returns the exit code.
func (c *console) execute(ctx context.Context, args []string) int {
	root := c.rootCommand()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code, words := explain(err)
	if words != "" {
		c.say("%s", words)
	}
	return code
}

// explain turns the error that ended a command into an exit code and words for people.
func explain(err error) (int, string) {
	if e, ok := errors.AsType[*exitError](err); ok {
		if e.err == nil {
			return e.code, ""
		}
		return e.code, "proxy-dispatch: " + e.err.Error()
	}
	if errors.Is(err, context.Canceled) {
		return exitFailed, "proxy-dispatch: interrupted"
	}
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		return codeOf(e), "proxy-dispatch: " + e.Error()
	}
	if _, ok := errors.AsType[config.Errors](err); ok {
		return exitUsage, err.Error()
	}
	if errors.Is(err, config.ErrNotFound) {
		return exitUsage, "proxy-dispatch: " + err.Error() + "\nMake one with `proxy-dispatch init config --write`, or name one with --config."
	}
	return exitUsage, "proxy-dispatch: " + err.Error()
}

// codeOf tells the exit code of a failed request.
func codeOf(e *dispatch.Error) int {
	switch e.Code {
	case dispatch.ServerUnavailable, dispatch.AuthRequired:
		return exitUnreachable
	case dispatch.Timeout:
		if e.Fate == dispatch.NotSent {
			return exitUnreachable
		}
	case dispatch.UnknownTool, dispatch.AmbiguousTool, dispatch.InvalidArguments, dispatch.BadRequest:
		return exitUsage
	}
	return exitFailed
}

// say writes words for people, without secrets.
func (c *console) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if c.redact != nil {
		text = c.redact(text)
	}
	_, _ = io.WriteString(c.err, strings.TrimRight(text, "\n")+"\n")
}

// show writes a line of a result.
func (c *console) show(format string, args ...any) error {
	_, err := fmt.Fprintf(c.out, format+"\n", args...)
	return err
}

// showJSON writes a result for programs: one value, indented, as it is spelled.
func (c *console) showJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	_, err := c.out.Write(b.Bytes())
	return err
}

// onTerminal reports whether w is a terminal that a person looks at and wants colours on.
func (c *console) onTerminal(w io.Writer) bool {
	if no, set := c.env("NO_COLOR"); set && no != "" {
		return false
	}
	if kind, _ := c.env("TERM"); kind == "dumb" {
		return false
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The colours.
const (
	red   = "31"
	green = "32"
	grey  = "90"
	bold  = "1"
)

// paint colours text for w.
func (c *console) paint(w io.Writer, colour, text string) string {
	if !c.onTerminal(w) {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
