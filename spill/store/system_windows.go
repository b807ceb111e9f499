package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

const (
	noWait   = 0
	noFollow = 0
)

var diskFull = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, syscall.ENOSPC}

// userName tells the users of one temporary folder apart; on Windows each has his own.
func userName() string { return "user" }

func ownedByUs(fs.FileInfo) bool { return true }

// lockFolder takes the lock of a process folder, which falls with the process however it ends: that of a
// file in it. errHeld says that another process lives in it.
func lockFolder(base *os.Root, name string) (*os.File, error) {
	f, err := base.OpenFile(name+`\_lock`, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, errHeld
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}
