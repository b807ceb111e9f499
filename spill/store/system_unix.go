//go:build !windows

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

const (
	noWait   = syscall.O_NONBLOCK // a fifo must not hold us
	noFollow = syscall.O_NOFOLLOW | noWait
)

var diskFull = []error{syscall.ENOSPC, syscall.EDQUOT}

// userName tells the users of one temporary folder apart.
func userName() string { return strconv.Itoa(os.Getuid()) }

// ownedByUs tells whether a folder belongs to this user.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Getuid()
}

// lockFolder takes the lock of a process folder, which falls with the process however it ends. The lock
// is on the folder itself, so there is no moment in which it exists unlocked and unclaimed. errHeld says
// that another process lives in it.
func lockFolder(base *os.Root, name string) (*os.File, error) {
	dir, err := base.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	raw, err := dir.SyscallConn()
	if err == nil {
		if failed := raw.Control(func(fd uintptr) { err = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) }); failed != nil {
			err = failed
		}
	}
	if err == nil {
		return dir, nil
	}
	_ = dir.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errHeld
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}
