//go:build unix

package wire

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryWriter gives a function that writes what a stream takes without waiting; nil if w is no such stream.
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
	return func(p []byte) (n int, err error) {
		again := raw.Write(func(fd uintptr) bool {
			n, err = unix.Write(int(fd), p)
			return true
		})
		n = max(n, 0)
		switch {
		case again != nil:
			return n, again
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			return n, nil
		}
		return n, err
	}
}
