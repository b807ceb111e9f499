// Package fault says how keeping and asking can fail; all rooms of spill share its errors.
package fault

import "errors"

// Errors a caller may ask for with errors.Is. The message of an error that wraps one says what is wrong.
var (
	// ErrBadQuery: an op, path, program or parameter that cannot be; the message names the field.
	ErrBadQuery = errors.New("bad query")
	// ErrNoMatch: the question is sound and leads to nothing in this data.
	ErrNoMatch = errors.New("no match")
	// ErrTooLarge: more than this operation handles at once.
	ErrTooLarge = errors.New("too large")
	// ErrDenied: a name that must not be opened.
	ErrDenied = errors.New("denied")
	// ErrNoSpace: the quota or the disk has no room.
	ErrNoSpace = errors.New("no space")
)
