package transparent

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkTable names ten thousand tools, and lists them.
func BenchmarkTable(b *testing.B) {
	var entries strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&entries, "s%d tool {\"name\":\"tool_%d\",\"description\":%q,\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}}\n", i%20, i, strings.Repeat("what it does ", 30))
	}
	w := newWorld(b, entries.String())
	b.Run("names", func(b *testing.B) {
		for b.Loop() {
			newTable(w.view, false)
		}
	})
	b.Run("entries", func(b *testing.B) {
		for b.Loop() {
			newTable(w.view, false).tools.render()
		}
	})
	b.Run("list", func(b *testing.B) {
		f := newFace(b, w, false)
		for b.Loop() {
			do(b, f, agentOne, "tools/list", `{"limit":100}`)
		}
	})
}
