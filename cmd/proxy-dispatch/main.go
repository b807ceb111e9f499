// Command proxy-dispatch shows agents one tool in front of many MCP servers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/process"
)

// watchWord makes this program the watcher that ends the servers' processes when we are gone.
const watchWord = "__watch"

func main() { os.Exit(run()) }

// run is the whole program; it returns the exit code.
func run() int {
	if len(os.Args) == 2 && os.Args[1] == watchWord {
		if err := process.Watch(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "proxy-dispatch watcher:", err)
			return exitFailed
		}
		return exitOK
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &console{in: pollable(os.Stdin), out: os.Stdout, err: os.Stderr, env: os.LookupEnv}
	return c.execute(ctx, os.Args[1:])
}
