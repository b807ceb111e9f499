//go:build unix

package main

import (
	"os"
	"syscall"
)

// reloadSignals make a serving proxy read its configuration again.
var reloadSignals = []os.Signal{syscall.SIGHUP}
