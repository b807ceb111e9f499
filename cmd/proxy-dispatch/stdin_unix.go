//go:build unix

package main

import (
	"io"
	"os"
	"syscall"
)

// pollable returns a file that the runtime waits for like for a connection, if it is a pipe or socket: a
// blocking read holds up whatever else its thread could run for longer than a small call takes. A
// terminal stays as it is, because others share it.
func pollable(f *os.File) io.Reader {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f
	}
	fd := f.Fd()
	if err := syscall.SetNonblock(int(fd), true); err != nil {
		return f
	}
	return os.NewFile(fd, f.Name())
}
