//go:build race

package tests

// raceOn builds the proxy under test with the race detector too, so that its processes are watched as the tests are.
const raceOn = true
