package dispatch

import (
	"bytes"
	"encoding/json"
)

// Pieces is one JSON text in pieces, to be written one after the other: a large result is not copied
// only to say something beside it. The pieces must not be changed.
type Pieces [][]byte

// Raw returns the text as one; of a single piece it is that piece itself.
func (p Pieces) Raw() json.RawMessage {
	if len(p) == 1 {
		return p[0]
	}
	return bytes.Join(p, nil)
}
