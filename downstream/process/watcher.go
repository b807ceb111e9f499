package process

import (
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"time"
)

// Watcher is our side of the watcher process: it starts with the first group and hears of each one that comes or
// goes. If it dies it is started again with the next group and told of all. A nil Watcher watches nothing.
type Watcher struct {
	argv []string
	log  *slog.Logger

	mu     sync.Mutex
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	living map[int]bool
	closed bool
}

// NewWatcher makes a Watcher of the command line of a process that runs Watch on its stdin; nil if that is empty. The
// log hears if it does not start.
func NewWatcher(argv []string, log *slog.Logger) *Watcher {
	if len(argv) == 0 {
		return nil
	}
	return &Watcher{argv: argv, log: log, living: map[int]bool{}}
}

func (w *Watcher) add(id int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.living[id] = true
	if w.tell('+', id) == nil {
		return
	}
	if err := w.start(); err != nil {
		w.log.Warn("watcher process does not start; servers may outlive a killed proxy", "error", err)
	}
}

func (w *Watcher) remove(id int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.living, id)
	_ = w.tell('-', id) // a dead watcher is replaced by the next add
}

func (w *Watcher) tell(sign byte, id int) error {
	if w.stdin == nil {
		return io.ErrClosedPipe
	}
	_, err := fmt.Fprintf(w.stdin, "%c%d\n", sign, id)
	return err
}

// start runs a watcher process and tells it of every living group.
func (w *Watcher) start() error {
	w.stop(0)
	cmd := exec.Command(w.argv[0], w.argv[1:]...)
	ownSession(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.cmd, w.stdin = cmd, stdin
	for id := range w.living {
		if err := w.tell('+', id); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the watcher process, which then ends the groups it still knows.
func (w *Watcher) stop(grace time.Duration) {
	if w.cmd == nil {
		return
	}
	cmd := w.cmd
	w.stdin.Close()
	late := time.AfterFunc(grace, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // how it ended does not matter
	late.Stop()
	w.cmd, w.stdin = nil, nil
}

// Close ends the watcher process and with it whatever groups it still knows. No group is watched afterwards.
func (w *Watcher) Close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.stop(graceRead)
}
