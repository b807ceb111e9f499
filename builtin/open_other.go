//go:build !unix

package builtin

const nonblock = 0
