// Command client is the program that the conformance suites' client scenarios are played with.
package main

import (
	"os"

	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/player"
)

func main() { os.Exit(player.Main(os.Args[1:])) }
