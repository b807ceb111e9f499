package search

import "context"

// Meaning turns texts into vectors that lie near each other when the texts mean the same. Implementations are safe
// for concurrent use and end soon after ctx does.
type Meaning interface {
	// Vectors returns one vector a text, all of one length.
	Vectors(ctx context.Context, texts []string) ([][]float32, error)
}
