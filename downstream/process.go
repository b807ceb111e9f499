package downstream

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// How long a server has at each step of its end; together less than two seconds.
const (
	graceStdin = 500 * time.Millisecond // after its stdin ended
	graceTerm  = 500 * time.Millisecond // after it was asked to terminate
	graceGroup = 200 * time.Millisecond // for what it left behind
	graceRead  = 200 * time.Millisecond // for output that somebody still holds open
)

// process is one running server and all it starts.
type process struct {
	cmd    *exec.Cmd
	group  *group
	stdin  *os.File
	stdout *os.File
	errors *stderrLog
	watch  *watcher
	status error         // of the exit
	exited chan struct{} // the server itself ended
	gone   chan struct{} // and so did everything it started
	read   chan struct{} // its output was read to the end
	once   sync.Once
}

// startProcess starts the server in a process group of its own.
func startProcess(s Server, w *watcher, stderr *stderrLog) (*process, error) {
	p := &process{
		errors: stderr, watch: w,
		exited: make(chan struct{}), gone: make(chan struct{}), read: make(chan struct{}),
	}
	p.cmd = exec.Command(s.Command, s.Args...)
	p.cmd.Dir = s.Dir
	if len(s.Env) > 0 {
		p.cmd.Env = append(p.cmd.Environ(), s.Env...)
		if path, ok := lookInEnv(s.Command, s.Env); ok {
			p.cmd.Path, p.cmd.Err = path, nil
		}
	}
	theirs, err := p.pipes()
	if err != nil {
		return nil, err
	}
	ownGroup(p.cmd)
	err = p.cmd.Start()
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("start: %w", err)
	}
	p.group = groupOf(p.cmd)
	w.add(p.group.id)
	go p.reap()
	return p, nil
}

// pipes connects the three streams and gives the ends that the server inherits.
func (p *process) pipes() (theirs []*os.File, err error) {
	var inRead, outWrite, errRead, errWrite *os.File
	if inRead, p.stdin, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.stdout, outWrite, err = os.Pipe(); err == nil {
		errRead, errWrite, err = os.Pipe()
	}
	if err != nil {
		p.closePipes()
		inRead.Close()
		if outWrite != nil {
			outWrite.Close()
		}
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inRead, outWrite, errWrite
	p.errors.follow(errRead)
	return []*os.File{inRead, outWrite, errWrite}, nil
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout} {
		if f != nil {
			f.Close()
		}
	}
}

// lookInEnv finds a bare command in the PATH that the configuration sets for the server.
func lookInEnv(command string, env []string) (string, bool) {
	if strings.ContainsAny(command, `/\`) {
		return "", false
	}
	for _, entry := range env {
		list, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path, err := exec.LookPath(filepath.Join(dir, command)); err == nil && dir != "" {
				return path, true
			}
		}
	}
	return "", false
}

// reap waits for the server's exit and then ends what it left behind.
func (p *process) reap() {
	p.status = p.cmd.Wait()
	close(p.exited)
	p.group.finish(graceGroup)
	p.watch.remove(p.group.id)
	select {
	case <-p.read:
	case <-time.After(graceRead):
	}
	p.closePipes() // somebody who left the group may hold the other ends
	p.errors.stop(graceRead)
	close(p.gone)
}

// end makes the server and everything it started end: first by the end of its input, then politely, then not.
func (p *process) end() {
	p.once.Do(func() {
		p.stdin.Close()
		if !p.waits(graceStdin) {
			p.group.terminate()
			if !p.waits(graceTerm) {
				p.group.kill()
			}
		}
	})
	<-p.gone
}

func (p *process) waits(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// why says how the server ended, waiting a little for its exit to follow the end of its output.
func (p *process) why(err error) error {
	text := "closed its output"
	if p.waits(graceRead) {
		p.errors.stop(graceRead)
		text = "exited"
		if p.status != nil {
			text = "exited: " + p.status.Error()
		}
	} else if !errors.Is(err, io.EOF) {
		text = err.Error()
	}
	if line := p.errors.telling(); line != "" {
		text += ": " + line
	}
	return errors.New(text)
}

// stdioConn is the connection to a stdio server: its process and the wire to it.
type stdioConn struct {
	*wire
	proc *process
}

func dialStdio(m *member, s *session) (conn, error) {
	stderr := newStderrLog(m.log, m.redact)
	proc, err := startProcess(m.options, m.fleet.watcher, stderr)
	if err != nil {
		return nil, err
	}
	over := func(err error) error {
		close(proc.read)
		return proc.why(err)
	}
	garbage := func(line []byte) {
		m.babble.log(m.log, slog.LevelWarn, "server wrote something that is no message to its stdout", clip(m.redact(string(line[:min(len(line), 2*stderrLine)])), maxBabble))
	}
	return &stdioConn{newWire(proc.stdout, proc.stdin, m.fleet.options.MaxMessage, s, garbage, over), proc}, nil
}

func (c *stdioConn) close() {
	c.lose(errLost)
	c.proc.end()
	c.workers.Wait()
}

var _ conn = (*stdioConn)(nil)
