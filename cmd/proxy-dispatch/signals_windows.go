package main

import "os"

// reloadSignals make a serving proxy read its configuration again; there is none on this system.
var reloadSignals = []os.Signal{}
