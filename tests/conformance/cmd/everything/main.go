// Command everything is the conformance tests' MCP server as a program of its own.
package main

import (
	"os"

	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/everything"
)

func main() { os.Exit(everything.Main(os.Args[1:])) }
