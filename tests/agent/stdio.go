package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// process is the other side of a pipe.
type process struct {
	cmd    *exec.Cmd
	stderr *Log
	ended  chan struct{} // closed when the process was waited for
	err    error         // of Wait; read after ended
}

type pipe struct {
	mu sync.Mutex
	in io.WriteCloser
	p  *process
}

// Start runs a command and speaks to it over its standard streams; what it writes to stderr is kept.
func Start(cmd *exec.Cmd) (*Agent, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("open stdin: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open stdout: %w", err)
	}
	p := &process{cmd: cmd, stderr: &Log{}, ended: make(chan struct{})}
	cmd.Stderr = p.stderr
	// A process left behind may hold stderr open; waiting for it must not hang the test that looks for it.
	cmd.WaitDelay = 3 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	a := newAgent()
	a.process = p
	a.carrier = &pipe{in: in, p: p}
	go func() {
		a.read(out)
		p.err = cmd.Wait()
		a.lost(ErrClosed)
		close(p.ended)
	}()
	return a, nil
}

func (a *Agent) read(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			a.receive(line)
		}
		if err != nil {
			return
		}
	}
}

func (c *pipe) send(_ context.Context, line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.in.Write(append(line, '\n'))
	return err
}

// close ends the process's input; one that has not ended after ten seconds is killed and reported.
func (c *pipe) close() error {
	_ = c.in.Close()
	select {
	case <-c.p.ended:
		if errors.Is(c.p.err, exec.ErrWaitDelay) {
			return nil
		}
		return c.p.err
	case <-time.After(10 * time.Second):
		_ = c.p.cmd.Process.Kill()
		<-c.p.ended
		return errors.New("the process outlived its input by ten seconds")
	}
}

// Pid is the process id of the other side; 0 over HTTP.
func (a *Agent) Pid() int {
	if a.process == nil {
		return 0
	}
	return a.process.cmd.Process.Pid
}

// Kill ends the process at once, without a chance to clean up.
func (a *Agent) Kill() error { return a.process.cmd.Process.Kill() }

// Ended is closed when the process is over.
func (a *Agent) Ended() <-chan struct{} { return a.process.ended }

// CPU is the time the ended process used, user and system.
func (a *Agent) CPU() time.Duration {
	s := a.process.cmd.ProcessState
	return s.UserTime() + s.SystemTime()
}

// Stderr is what the process wrote to its standard error so far.
func (a *Agent) Stderr() string { return a.process.stderr.String() }

// Log is a buffer that may be written and read at the same time.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
