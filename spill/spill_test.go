package spill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

var ann = Owner{Principal: "ann", Session: "s1"}

func newShelf(t testing.TB, o Options) *Shelf {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t testing.TB, s *Shelf, raw string) *Artifact {
	t.Helper()
	a, err := s.Put(t.Context(), ann, Sources{{Server: "db", Tool: "query"}}, json.RawMessage(raw))
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return a
}

// text makes a result of one text.
func text(s string) string {
	quoted, _ := json.Marshal(s)
	return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
}

// records makes a list of n records.
func records(n int) string {
	var out strings.Builder
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"id":%d,"name":"user %d","price":1.10,"big":12345678901234567890}`, i, i)
	}
	return "[" + out.String() + "]"
}

func mainFile(t testing.TB, a *Artifact) string {
	t.Helper()
	data, err := os.ReadFile(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// rawOf reads the whole raw result.
func rawOf(t testing.TB, s *Shelf, a *Artifact) string {
	t.Helper()
	v, err := s.view(context.Background(), a, Raw)
	if err != nil {
		t.Fatalf("raw: %v", err)
	}
	defer v.close()
	data, err := io.ReadAll(io.NewSectionReader(v.r, 0, v.Size))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestData(t *testing.T) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAE="
	tests := []struct {
		name, raw string
		kind      string
		file      string // the main file
		ext       string
	}{
		{"records", `{"content":[],"structuredContent":[{"a":1},{"a":2.50}]}`, "records", "[{\"a\":1},\n{\"a\":2.50}]\n", ".json"},
		{"json text", text(`[{"a": 1}, {"a": 2}]`), "records", "[{\"a\":1},\n{\"a\":2}]\n", ".json"},
		{"structured wins", `{"content":[{"type":"text","text":"hello"}],"structuredContent":{"b":1}}`, "object", "{\"b\":1}\n", ".json"},
		{"structured null", `{"content":[{"type":"text","text":"hello"}],"structuredContent":null}`, "text", "hello", ".txt"},
		{"text", text("one\ntwo\n"), "text", "one\ntwo\n", ".txt"},
		{"number text", text("42"), "text", "42\n", ".json"},
		{"texts", `{"content":[{"type":"text","text":"a\nb"},{"type":"text","text":"c"}]}`, "list", "[\"a\\nb\",\"c\"]\n", ".json"},
		{"blob", `{"content":[{"type":"image","mimeType":"image/png","data":"` + png + `"}]}`, "blob", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01", ".png"},
		{"text and blob", `{"content":[{"type":"image","mimeType":"image/png","data":"` + png + `"},{"type":"text","text":"see"}]}`, "text", "see", ".txt"},
		{"blobs", `{"content":[{"type":"image","mimeType":"image/png","data":"` + png + `"},{"type":"x","y":1}]}`, "blob", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01", ".png"},
		{"two blobs", `{"content":[{"type":"image","data":"` + png + `"},{"type":"audio","data":"` + png + `"}]}`, "records", "[{\"type\":\"image\",\"data\":\"\"},\n{\"type\":\"audio\",\"data\":\"\"}]\n", ".json"},
		{"embedded text", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}]}`, "text", "inside", ".txt"},
		{"embedded blob", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/zip","blob":"` + png + `"}}]}`, "blob", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01", ".zip"},
		{"resource", `{"contents":[{"uri":"file:///a","text":"inside"}]}`, "text", "inside", ".txt"},
		{"other", `{"messages":[{"role":"user"}]}`, "object", "{\"messages\":[{\"role\":\"user\"}]}\n", ".json"},
		{"no content", `{"content":[]}`, "list", "[]\n", ".json"},
		{"no json", `{"content":[`, "text", `{"content":[`, ".txt"},
		{"bad base64", `{"content":[{"type":"image","data":"***"}]}`, "records", "[{\"type\":\"image\",\"data\":\"\"}]\n", ".json"},
	}
	s := newShelf(t, Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := put(t, s, tt.raw)
			if a.Kind != tt.kind || !strings.HasSuffix(a.Path, tt.ext) {
				t.Errorf("kind %s in %s, want %s in *%s", a.Kind, a.Path, tt.kind, tt.ext)
			}
			if got := mainFile(t, a); got != tt.file {
				t.Errorf("main file %q, want %q", got, tt.file)
			}
			if got := rawOf(t, s, a); got != tt.raw {
				t.Errorf("raw %q, want %q", got, tt.raw)
			}
		})
	}
}

func TestRead(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, `{"content":[{"type":"text","text":"x"}],"structuredContent":`+records(1000)+`}`)
	log := put(t, s, text("alpha\nBeta error\ngamma\ndelta\nerror again\n"+strings.Repeat("q", 500)+"needle"+strings.Repeat("z", 500)+"\nlast"))
	tests := []struct {
		name  string
		of    *Artifact
		q     Query
		want  string
		check func(Answer) bool
	}{
		{"head", a, Query{Op: "head", Lines: 2}, "[{\"id\":0,\"name\":\"user 0\",\"price\":1.10,\"big\":12345678901234567890},\n{\"id\":1,\"name\":\"user 1\",\"price\":1.10,\"big\":12345678901234567890},", func(x Answer) bool { return x.NextLine == 3 && !x.Truncated && x.TotalLines == 1000 }},
		{"slice", a, Query{Op: "slice", FromLine: 501, ToLine: 501}, "{\"id\":500,\"name\":\"user 500\",\"price\":1.10,\"big\":12345678901234567890},", nil},
		{"tail", a, Query{Op: "tail", Lines: 2}, "{\"id\":998,\"name\":\"user 998\",\"price\":1.10,\"big\":12345678901234567890},\n{\"id\":999,\"name\":\"user 999\",\"price\":1.10,\"big\":12345678901234567890}]", nil},
		{"path", a, Query{Op: "read", Path: "7.price"}, "1.10", nil},
		{"pointer", a, Query{Op: "get", Path: "/7/name"}, "user 7", nil},
		{"brackets", a, Query{Op: "get", Path: "$[7].big"}, "12345678901234567890", nil},
		{"path list", a, Query{Op: "read", Path: `#(id>997)#.id`}, "[998,999]", nil},
		{"grep", log, Query{Op: "grep", Pattern: "ERROR"}, "2: Beta error\n5: error again", func(x Answer) bool { return x.MatchCount == 2 && x.ReturnedMatches == 2 }},
		{"grep context", log, Query{Op: "grep", Pattern: "error", Context: 1}, "1- alpha\n2: Beta error\n3- gamma\n4- delta\n5: error again\n6- " + strings.Repeat("q", 300) + "…[+706 bytes at offset 341]", nil},
		{"grep groups", log, Query{Op: "grep", Pattern: "alpha|last", Context: 1}, "1: alpha\n2- Beta error\n---\n6- " + strings.Repeat("q", 300) + "…[+706 bytes at offset 341]\n7: last", nil},
		{"grep limit", log, Query{Op: "grep", Pattern: "a", Limit: 1}, "1: alpha", func(x Answer) bool { return x.MatchCount == 6 && x.Truncated && x.NextLine == 2 }},
		{"grep around", log, Query{Op: "grep", Pattern: "needle"}, "6: [400 bytes]…" + strings.Repeat("q", 100) + "needle" + strings.Repeat("z", 194) + "…[+306 bytes at offset 741]", nil},
		{"grep invert", log, Query{Op: "grep", Pattern: "a", Invert: true}, "6: qqq", nil},
		{"bytes", log, Query{Op: "bytes", Offset: 6, MaxBytes: 4}, "Beta", func(x Answer) bool { return x.NextOffset == 10 && x.Truncated }},
		{"stat", log, Query{}, log.Handle + ": text, text/plain, 1052 bytes, 7 lines (longest 1006 bytes)", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Read(t.Context(), tt.of, Data, tt.q)
			if err != nil {
				t.Fatal(err)
			}
			exact := tt.q.Op != "" && tt.name != "grep invert"
			if exact && got.Text != tt.want || !strings.HasPrefix(got.Text, tt.want) {
				t.Errorf("text\n%s\nwant\n%s", got.Text, tt.want)
			}
			if tt.check != nil && !tt.check(got) {
				t.Errorf("answer %+v", got)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	s := newShelf(t, Options{})
	a, b := put(t, s, text(`{"a":1}`)), put(t, s, text("plain"))
	tests := []struct {
		name string
		of   *Artifact
		q    Query
		want error
	}{
		{"op", a, Query{Op: "cut"}, ErrBadQuery},
		{"pattern", a, Query{Op: "grep", Pattern: "("}, ErrBadQuery},
		{"no pattern", a, Query{Op: "grep"}, ErrBadQuery},
		{"jq syntax", a, Query{JQ: ".["}, ErrBadQuery},
		{"jq gives nothing", a, Query{JQ: "empty"}, ErrNoMatch},
		{"jq fails", a, Query{JQ: ".a.b"}, ErrBadQuery},
		{"sample of no list", a, Query{Op: "sample"}, ErrBadQuery},
		{"csv of no table", put(t, s, text(`{"a":{"b":1}}x`)), Query{Op: "read", Format: "xml"}, ErrBadQuery},
		{"negative", a, Query{Op: "head", Lines: -1}, ErrBadQuery},
		{"behind", a, Query{Op: "slice", FromLine: 9}, ErrBadQuery},
		{"no match", a, Query{Op: "read", Path: "b"}, ErrNoMatch},
		{"path on text", b, Query{Op: "read", Path: "b"}, ErrBadQuery},
		{"pretty", a, Query{Op: "read", Path: "@pretty"}, ErrBadQuery},
		{"many modifiers", a, Query{Op: "read", Path: strings.Repeat("@tostr|", 50) + "@tostr"}, ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := s.Read(t.Context(), tt.of, Data, tt.q); !errors.Is(err, tt.want) {
				t.Errorf("Read = %+v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, `{"content":[],"structuredContent":`+records(100)+`}`)
	t.Log("\n" + a.Report(ReportExtra{Repairs: []string{`limit: "5" → 5`}}))
	t.Log(s.o.Tokens.Count(a.Report(ReportExtra{})))
}
