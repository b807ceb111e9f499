package downstream

import (
	"encoding/json"
	"testing"
)

func BenchmarkEcho(b *testing.B) {
	f := newFleet(b, Options{Servers: []Server{fixtureServer(b, "s")}})
	if _, err := f.Hello(b.Context(), "s"); err != nil {
		b.Fatal(err)
	}
	b.Run("one by one", func(b *testing.B) {
		for b.Loop() {
			if _, err := f.Do(b.Context(), Request{Server: "s", Method: "echo", Params: json.RawMessage(`{"a":1}`)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("64 at once", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := f.Do(b.Context(), Request{Server: "s", Method: "echo", Params: json.RawMessage(`{"a":1}`)}); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("100 MB", func(b *testing.B) {
		b.SetBytes(100_000_000)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Do(b.Context(), Request{Server: "s", Method: "big", Params: json.RawMessage(`{"n":100000000}`)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
