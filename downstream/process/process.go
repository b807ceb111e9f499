// Package process runs a server's process and ends everything it started.
package process

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

// Options say what to run.
type Options struct {
	// Command is the program, looked up in the PATH of Env if Env sets one.
	Command string
	// Args are the program's arguments.
	Args []string
	// Env is a list of K=V added to this process's own environment.
	Env []string
	// Dir is the working directory; "" is ours.
	Dir string
	// Log takes what the process writes to its stderr; nil discards.
	Log *slog.Logger
	// Show makes one line of at most limit bytes, without secrets, of a text from the process; nil changes
	// nothing. Called concurrently.
	Show func(text string, limit int) string
	// Watcher ends the process if this one is killed; nil is none.
	Watcher *Watcher
}

// Process is one running server and all it starts.
type Process struct {
	// Stdin is what the server reads; End closes it.
	Stdin *os.File
	// Stdout is what the server writes; whoever reads it calls Why when it ended. It is closed when all is gone.
	Stdout *os.File

	cmd    *exec.Cmd
	group  *group
	stderr *stderrLog
	watch  *Watcher
	status error         // of the exit
	exited chan struct{} // the server itself ended
	gone   chan struct{} // and so did everything it started
	read   chan struct{} // its output was read to the end
	once   sync.Once
}

// Start starts the server in a process group of its own. End must follow, also if the server ends by itself.
func Start(o Options) (*Process, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Show == nil {
		o.Show = func(text string, _ int) string { return text }
	}
	p := &Process{
		stderr: newStderrLog(o.Log, o.Show), watch: o.Watcher,
		exited: make(chan struct{}), gone: make(chan struct{}), read: make(chan struct{}),
	}
	p.cmd = exec.Command(o.Command, o.Args...)
	p.cmd.Dir = o.Dir
	if len(o.Env) > 0 {
		p.cmd.Env = append(p.cmd.Environ(), o.Env...)
		if path, ok := lookInEnv(o.Command, o.Env); ok {
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
	p.watch.add(p.group.id)
	go p.reap()
	return p, nil
}

// pipes connects the three streams and gives the ends that the server inherits.
func (p *Process) pipes() (theirs []*os.File, err error) {
	var inRead, outWrite, errRead, errWrite *os.File
	if inRead, p.Stdin, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.Stdout, outWrite, err = os.Pipe(); err == nil {
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
	p.stderr.follow(errRead)
	return []*os.File{inRead, outWrite, errWrite}, nil
}

func (p *Process) closePipes() {
	for _, f := range []*os.File{p.Stdin, p.Stdout} {
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
func (p *Process) reap() {
	p.status = p.cmd.Wait()
	close(p.exited)
	p.group.finish(graceGroup)
	p.watch.remove(p.group.id)
	select {
	case <-p.read:
	case <-time.After(graceRead):
	}
	p.closePipes() // somebody who left the group may hold the other ends
	p.stderr.stop(graceRead)
	close(p.gone)
}

// End makes the server and everything it started end, in less than two seconds: first by the end of its input, then
// politely, then not. It may be called more than once, also concurrently; each call returns when all is gone.
func (p *Process) End() {
	p.once.Do(func() {
		p.Stdin.Close()
		if !p.waits(graceStdin) {
			p.group.terminate()
			if !p.waits(graceTerm) {
				p.group.kill()
			}
		}
	})
	<-p.gone
}

func (p *Process) waits(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// Why says how the server ended, after the reading of Stdout ended with err: it waits a little for the exit to follow.
// The reader calls it once.
func (p *Process) Why(err error) error {
	close(p.read)
	text := "closed its output"
	if p.waits(graceRead) {
		p.stderr.stop(graceRead)
		text = "exited"
		if p.status != nil {
			text = "exited: " + p.status.Error()
		}
	} else if !errors.Is(err, io.EOF) {
		text = err.Error()
	}
	if line := p.stderr.telling(); line != "" {
		text += ": " + line
	}
	return errors.New(text)
}

// Exit returns how the process exited: nil if well, or if it has not exited yet.
func (p *Process) Exit() error {
	select {
	case <-p.exited:
		return p.status
	default:
		return nil
	}
}
