//go:build unix

package wire

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryWriter gives a function that writes what a stream takes without waiting, for one goroutine at a time; nil if w is no
// such stream.
func tryWriter(w io.Writer) func(p []byte) (int, error) {
	file, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	waits := true
	err = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		waits = err != nil || flags&unix.O_NONBLOCK == 0
	})
	if err != nil || waits {
		return nil
	}
	t := &trial{raw: raw}
	t.step = func(fd uintptr) bool {
		t.n, t.err = unix.Write(int(fd), t.p)
		return true
	}
	return t.write
}

// trial writes once and takes what comes of it. One goroutine uses it at a time; what it needs is made once.
type trial struct {
	raw  syscall.RawConn
	step func(fd uintptr) bool
	p    []byte
	n    int
	err  error
}

func (t *trial) write(p []byte) (int, error) {
	t.p, t.n, t.err = p, 0, nil
	lost := t.raw.Write(t.step)
	t.p = nil
	n := max(t.n, 0)
	switch {
	case lost != nil:
		return n, lost
	case errors.Is(t.err, unix.EAGAIN), errors.Is(t.err, unix.EINTR):
		return n, nil
	}
	return n, t.err
}
