//go:build !race

package tests

const raceOn = false
