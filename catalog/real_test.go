package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// realCatalog lies beside a checkout where it is there at all: a JSON list of tools as real servers offer them, each
// with the name of its server.
var realCatalog = filepath.Join("..", "..", "shared", "retrieval", "real", "catalog.json")

// BenchmarkCatalog reads the real catalog as one page: time, and what stays in memory, the page included.
func BenchmarkCatalog(b *testing.B) {
	data, err := os.ReadFile(realCatalog)
	if err != nil {
		b.Skipf("no catalog of real servers beside the project: %v", err)
	}
	page := json.RawMessage(`{"tools":` + string(data) + `}`)
	b.SetBytes(int64(len(page)))
	var kept *collector
	for b.Loop() {
		p, err := readPage(lists[0], page)
		if err != nil {
			b.Fatal(err)
		}
		kept = newCollector("real")
		kept.add(lists[0], p.items)
	}
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	entries := len(kept.entries)
	runtime.KeepAlive(kept)
	kept = nil
	runtime.GC()
	runtime.ReadMemStats(&without)
	b.ReportMetric(float64(with.HeapAlloc-without.HeapAlloc)/float64(max(entries, 1)), "kept-B/entry")
}
