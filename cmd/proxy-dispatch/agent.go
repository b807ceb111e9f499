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
	"sync"
	"time"
)

// stdioAgent speaks MCP to a program as an agent does. Its requests may run at once.
type stdioAgent struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer  // complete once the program has ended
	ended  chan struct{} // closed when the program writes no more

	mu      sync.Mutex // guards what follows and writes to in
	id      int
	waiting map[int]chan answer
}

// answer is a JSON-RPC answer.
type answer struct {
	ID     int
	Method string // of what is no answer
	Result json.RawMessage
	Error  *struct{ Message string }
}

var errProgramEnded = errors.New("the program ended without an answer")

// startAgent starts the program. Close ends it.
func startAgent(cmd *exec.Cmd) (*stdioAgent, error) {
	a := &stdioAgent{cmd: cmd, ended: make(chan struct{}), waiting: map[int]chan answer{}}
	cmd.Stderr = &a.stderr
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	a.in = in
	go a.read(out) // ends with the program; Close waits for it
	return a, nil
}

func (a *stdioAgent) read(out io.Reader) {
	defer close(a.ended)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m answer
		if json.Unmarshal(line, &m) != nil || m.Method != "" {
			continue // a notification, or a request that no agent of ours takes
		}
		a.mu.Lock()
		to := a.waiting[m.ID]
		delete(a.waiting, m.ID)
		a.mu.Unlock()
		if to != nil {
			to <- m
		}
	}
}

// Close says goodbye by closing stdin and waits for the program's end, which it helps along after a while.
func (a *stdioAgent) Close() error {
	_ = a.in.Close()
	kill := time.AfterFunc(5*time.Second, func() { _ = a.cmd.Process.Kill() })
	defer kill.Stop()
	<-a.ended
	if err := a.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(a.stderr.String()))
	}
	return nil
}

// hello opens the session and returns the answer to initialize.
func (a *stdioAgent) hello(ctx context.Context) (json.RawMessage, error) {
	raw, err := a.request(ctx, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}`)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err = io.WriteString(a.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return raw, err
}

// request sends a request and returns its result.
func (a *stdioAgent) request(ctx context.Context, method, params string) (json.RawMessage, error) {
	to := make(chan answer, 1)
	a.mu.Lock()
	a.id++
	a.waiting[a.id] = to
	_, err := fmt.Fprintf(a.in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q,\"params\":%s}\n", a.id, method, params)
	a.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.ended:
		return nil, fmt.Errorf("%s: %w", method, errProgramEnded)
	case m := <-to:
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		return m.Result, nil
	}
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
