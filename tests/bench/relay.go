package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// relayWord makes this program a relay: it starts the program named next and copies bytes both ways.
const relayWord = "relay"

// relay is the least that anything between an agent and a server can do; its ratio is the floor of all others.
func relay(program string) error {
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("open stdin: %w", err)
	}
	// Wrapped, so that the kernel's shortcuts between pipes do not apply: a proxy has to look at what it carries.
	cmd.Stdout = struct{ io.Writer }{os.Stdout}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	_, _ = io.Copy(struct{ io.Writer }{in}, struct{ io.Reader }{os.Stdin})
	_ = in.Close()
	return cmd.Wait()
}
