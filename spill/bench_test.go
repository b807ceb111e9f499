package spill

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// bigFile writes records a line, about so many megabytes, and opens them.
func bigFile(b *testing.B, megabytes int) (*Shelf, *Artifact) {
	b.Helper()
	dir := b.TempDir()
	path := filepath.Join(dir, "big.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	chunk := bytes.ReplaceAll(bytes.Trim(orders(10_000_000), "[]"), []byte("},{"), []byte("}\n{"))
	for i := range megabytes / 10 {
		if _, err := f.Write(append(bytes.ReplaceAll(chunk, []byte(`"record-1`), fmt.Appendf(nil, `"record-%d`, 10+i)), '\n')); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	s := newShelf(b, Options{AllowedRoots: []string{dir}})
	a, _, err := s.Find(b.Context(), ann, path)
	if err != nil {
		b.Fatal(err)
	}
	return s, a
}

// BenchmarkGrep reports the time in ratio to GNU grep, which must count the same.
func BenchmarkGrep(b *testing.B) {
	s, a := bigFile(b, 500)
	for _, tt := range []struct{ name, flag, pattern string }{
		{"rare", "-ci", "record-4999999"},
		{"everyline", "-ci", "country"},
		{"digits", "-ciE", "record-1999[0-9]5"},
		{"user", "-ciE", "user[0-9]+@example"},
		{"score", "-ciE", `[0-9]{2}\.[0-9]{3},"tags`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			start := time.Now()
			command := exec.Command("grep", tt.flag, tt.pattern, a.Path)
			command.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
			out, _ := command.Output()
			theirs := time.Since(start)
			count, err := strconv.Atoi(strings.TrimSpace(string(out)))
			if err != nil {
				b.Skip("no grep: ", err)
			}
			for b.Loop() {
				got, err := s.Read(b.Context(), a, Data, Query{Op: "grep", Pattern: tt.pattern})
				if err != nil || got.MatchCount != count {
					b.Fatalf("%d matches, %v, grep has %d", got.MatchCount, err, count)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(theirs), "grep")
			b.ReportMetric(theirs.Seconds(), "grep-s")
		})
	}
}

// results are the forms in which a server sends the same data.
func results(size int) map[string][]byte {
	data := orders(size)
	return map[string][]byte{
		"structured": append(append([]byte(`{"content":[],"structuredContent":`), data...), '}'),
		"text":       append(append([]byte(`{"content":[{"type":"text","text":`), rawjson.AppendQuote(nil, string(data))...), "}]}"...),
	}
}

func BenchmarkPut(b *testing.B) {
	for name, raw := range results(100_000_000) {
		b.Run(name, func(b *testing.B) {
			s := newShelf(b, Options{QuotaBytes: 1 << 30})
			b.SetBytes(int64(len(raw)))
			n := 0
			for b.Loop() {
				n++
				from := Sources{{Tool: strconv.Itoa(n)}}
				if _, err := s.Put(b.Context(), ann, from, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadAnywhere(b *testing.B) {
	s, a := bigFile(b, 1000)
	for _, q := range []Query{{Op: "stat"}, {Op: "head"}, {Op: "tail"}, {Op: "slice", FromLine: a.Lines / 3, ToLine: a.Lines/3 + 50}, {Op: "sample"}} {
		b.Run(q.Op, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Read(b.Context(), a, Data, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTokens(b *testing.B) {
	data := orders(50_000_000)
	s := newShelf(b, Options{})
	s.o.Tokens.Count("load")
	for b.Loop() {
		if _, _, err := s.o.Tokens.Measure(bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
}
