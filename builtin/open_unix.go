//go:build unix

package builtin

import "syscall"

// nonblock keeps the opening of a pipe nobody writes to from waiting for ever.
const nonblock = syscall.O_NONBLOCK
