//go:build race

package script

// slow is how much longer things take here.
const slow = 8
