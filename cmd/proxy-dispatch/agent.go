package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// stdioAgent speaks MCP to a program as an agent does: one request after the other. It is used by one
// goroutine.
type stdioAgent struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan []byte // what the program writes; closed at its end
	stderr bytes.Buffer
	id     int
}

// startAgent starts the program. Close ends it.
func startAgent(name string, args ...string) (*stdioAgent, error) {
	a := &stdioAgent{cmd: exec.Command(name, args...), lines: make(chan []byte)}
	a.cmd.Stderr = &a.stderr
	a.cmd.WaitDelay = time.Second
	in, err := a.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	a.in = in
	go a.read(out) // ends with the program, which Close waits for
	return a, nil
}

func (a *stdioAgent) read(out io.Reader) {
	defer close(a.lines)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			a.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// Close says goodbye by closing stdin and waits for the program's end, which it helps along after a while.
func (a *stdioAgent) Close() error {
	_ = a.in.Close()
	kill := time.AfterFunc(5*time.Second, func() { _ = a.cmd.Process.Kill() })
	defer kill.Stop()
	for range a.lines { // what still comes has no reader
	}
	if err := a.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(a.stderr.String()))
	}
	return nil
}

// request sends a request and returns its result.
func (a *stdioAgent) request(ctx context.Context, method, params string) (json.RawMessage, error) {
	a.id++
	if err := a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.id, method, params)); err != nil {
		return nil, err
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case line, ok := <-a.lines:
			if !ok {
				return nil, errors.New("the program ended: " + method + " has no answer")
			}
			var m struct {
				ID     int
				Result json.RawMessage
				Error  *struct{ Message string }
			}
			if json.Unmarshal(line, &m) != nil || m.ID != a.id {
				continue // a notification
			}
			if m.Error != nil {
				return nil, fmt.Errorf("%s: %s", method, m.Error.Message)
			}
			return m.Result, nil
		}
	}
}

func (a *stdioAgent) notify(method string) error {
	return a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method))
}

func (a *stdioAgent) send(message string) error {
	_, err := io.WriteString(a.in, message+"\n")
	return err
}

// toolAnswer is what the one tool answered.
type toolAnswer struct {
	text    string // all text blocks
	isError bool
	handle  string // of a kept result
}

// tool uses the one tool.
func (a *stdioAgent) tool(ctx context.Context, arguments string) (*toolAnswer, error) {
	raw, err := a.request(ctx, "tools/call", `{"name":"proxy-dispatch","arguments":`+arguments+`}`)
	if err != nil {
		return nil, err
	}
	var r struct {
		Content []struct{ Text string }
		IsError bool
		Meta    struct {
			Ours struct{ Handle string } `json:"proxy-dispatch"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	out := &toolAnswer{isError: r.IsError, handle: r.Meta.Ours.Handle}
	for _, b := range r.Content {
		out.text += b.Text
	}
	return out, nil
}
