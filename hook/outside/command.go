package outside

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/process"
)

// CommandOptions say what to run.
type CommandOptions struct {
	// Command is the program and its arguments.
	Command []string
	// Dir is the working directory; "" is ours.
	Dir     string
	Timeout time.Duration // of one answer; 0 means DefaultTimeout
	// Keep is how many processes of the command are kept, each of which answers one question after the other, a line for
	// a line. 0: a process for each question, which reads it to the end of its stdin.
	Keep int
	// Log takes what the command writes to its stderr; nil discards. Show makes a line of it without secrets.
	Log  *slog.Logger
	Show func(text string, limit int) string
	// Watcher ends the command if this process is killed; nil is none.
	Watcher *process.Watcher
}

// maxRunning bounds the processes of one command that runs anew for each question.
const maxRunning = 16

// Command is a hook that a command answers. Close ends its processes.
type Command struct {
	o     CommandOptions
	slots chan *running // processes to use; nil is one that is still to be started
	mu    sync.Mutex
	done  bool
}

var (
	errClosed = errors.New("the hook is closed")
	errSilent = errors.New("it gave no answer")
)

// NewCommand starts nothing yet.
func NewCommand(o CommandOptions) *Command {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	n := o.Keep
	if n <= 0 {
		n = maxRunning
	}
	c := &Command{o: o, slots: make(chan *running, n)}
	for range n {
		c.slots <- nil
	}
	return c
}

// Close waits for the questions under way, each of which ends in its time, and ends the processes.
func (c *Command) Close() error {
	c.mu.Lock()
	was := c.done
	c.done = true
	c.mu.Unlock()
	if was {
		return nil
	}
	var wg sync.WaitGroup
	for range cap(c.slots) {
		if r := <-c.slots; r != nil {
			wg.Go(r.end)
		}
	}
	close(c.slots)
	wg.Wait()
	return nil
}

// Run asks a process.
func (c *Command) Run(ctx context.Context, call dispatch.HookCall) (dispatch.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	q, err := question(call)
	if err != nil {
		return dispatch.Verdict{}, err
	}
	raw, err := c.ask(ctx, append(q, '\n'))
	if err != nil {
		return dispatch.Verdict{}, fmt.Errorf("ask %s: %w", c.o.Command[0], err)
	}
	return verdict(call, raw)
}

// ask waits for a process, and ends one that did not do what it should.
func (c *Command) ask(ctx context.Context, q []byte) ([]byte, error) {
	var r *running
	open := false
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a process: %w", ctx.Err())
	case r, open = <-c.slots:
	}
	if !open {
		return nil, errClosed
	}
	if c.closed() {
		c.slots <- r // Close waits for it
		return nil, errClosed
	}
	var answer []byte
	var err error
	if r == nil {
		r, err = c.start()
	}
	if err == nil {
		answer, err = r.ask(ctx, q, c.o.Keep > 0)
	}
	if r != nil && (err != nil || c.o.Keep <= 0) {
		r.end()
		r = nil
	}
	c.slots <- r
	return answer, err
}

func (c *Command) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

func (c *Command) start() (*running, error) {
	p, err := process.Start(process.Options{Command: c.o.Command[0], Args: c.o.Command[1:], Dir: c.o.Dir, Log: c.o.Log, Show: c.o.Show, Watcher: c.o.Watcher})
	if err != nil {
		return nil, err
	}
	return &running{process: p, out: bufio.NewReaderSize(p.Stdout, 64<<10)}, nil
}

// running is one process; one question at a time uses it.
type running struct {
	process *process.Process
	out     *bufio.Reader
}

func (r *running) end() { r.process.End() }

// ask writes a question and reads the answer: a line of a process that is kept, else all that it writes. It returns at the
// latest when ctx has ended, and then the process is of no more use.
func (r *running) ask(ctx context.Context, q []byte, line bool) ([]byte, error) {
	type answer struct {
		raw []byte
		err error
	}
	got := make(chan answer, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		// A process may answer before it has read everything, so both go on at once.
		_, err := r.process.Stdin.Write(q)
		if !line {
			err = errors.Join(err, r.process.Stdin.Close())
		}
		_ = err // who doesn't read the question may still answer
	})
	wg.Go(func() {
		raw, err := r.read(line)
		got <- answer{raw, err}
	})
	select {
	case a := <-got:
		if a.err != nil {
			r.process.End()
		}
		wg.Wait()
		return a.raw, a.err
	case <-ctx.Done():
		r.process.End() // both ends of the pipes close
		wg.Wait()
		return nil, fmt.Errorf("no answer in time: %w", ctx.Err())
	}
}

func (r *running) read(line bool) ([]byte, error) {
	var out []byte
	for {
		part, err := r.out.ReadSlice('\n')
		if len(out)+len(part) > maxAnswer {
			return nil, errTooLarge
		}
		out = append(out, part...)
		switch {
		case err == nil && line:
			return out, nil
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && !line:
			why := r.process.Why(io.EOF)
			if r.process.Exit() != nil {
				return nil, why
			}
			return out, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: %w", errSilent, r.process.Why(io.EOF))
		default:
			return nil, fmt.Errorf("read its answer: %w", err)
		}
	}
}
