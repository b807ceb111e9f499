package tokens

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// oracle counts with the library whose results ours must equal.
var oracle = func() func(t testing.TB, encoding, text string) int {
	var mu sync.Mutex
	known := map[string]*tiktoken.Tiktoken{}
	return func(t testing.TB, encoding, text string) int {
		mu.Lock()
		defer mu.Unlock()
		if known[encoding] == nil {
			tiktoken.SetBpeLoader(loader.NewOfflineLoader())
			tk, err := tiktoken.GetEncoding(encoding)
			if err != nil {
				t.Fatalf("load %s: %v", encoding, err)
			}
			known[encoding] = tk
		}
		return len(known[encoding].EncodeOrdinary(text))
	}
}()

var samples = map[string]string{
	"empty":         "",
	"words":         "The quick brown fox doesn't jump; it's lazy.",
	"contractions":  "I'LL we've THEY'RE he'd I'm 'tis can't 's 'S don'T",
	"camel":         "getUserByID HTTPServer XMLHttpRequest snake_case SCREAMING_CASE ABc",
	"json":          `{"id":12345678,"name":"Ann","tags":["a","b"],"ok":true,"x":1.50e-7}`,
	"spaces":        "a  b   c\t\td \n\n  e\r\n\r\n   ",
	"trailing":      "word   ",
	"feeds":         "\n\n \n a\n  \n",
	"slashes":       "https://example.com/a/b//c/// \n/\n",
	"numbers":       "1 12 123 1234 12345678901234567890 ½ Ⅷ ٣٤",
	"chinese":       "大型结果写入文件,不进入上下文。",
	"japanese":      "東京タワーは高い。カタカナ",
	"arabic":        "مرحبا بالعالم",
	"thai":          "สวัสดีชาวโลก",
	"hindi":         "नमस्ते दुनिया",
	"emoji":         "👩‍👩‍👧‍👦 family 🏳️‍🌈 flags 🇩🇪",
	"marks":         "e\u0301\u0301a \u0301 \u0301\u0301A\u0301B",
	"titlecase":     "Džungla DŽ dž ǅab",
	"odd spaces":    "a\u00a0b\u2003c\u3000d\u0085e\u200bf",
	"control":       "\x00\x01\x02 \x7f \x1b[31mred",
	"invalid bytes": "a\xff\xfeb\xc3 \xe2\x82",
	"special":       "<|endoftext|> is plain here",
	"long s":        "'ſ 'K it'ſ",
	"one letter":    strings.Repeat("a", 3000),
	"one sign":      strings.Repeat("=", 3000),
	"one space":     strings.Repeat(" ", 3000) + "x",
	"hex":           strings.Repeat("deadbeef0123456789", 40),
}

func TestCountEqualsLibrary(t *testing.T) {
	for _, name := range Encodings() {
		c, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		for label, text := range samples {
			t.Run(name+"/"+label, func(t *testing.T) {
				if got, want := c.Count(text), oracle(t, name, text); got != want {
					t.Errorf("Count(%.60q) = %d, want %d", text, got, want)
				}
			})
		}
	}
}

func TestNewUnknown(t *testing.T) {
	if _, err := New("o300k"); err == nil || !strings.Contains(err.Error(), "o200k_base") {
		t.Errorf("New(o300k) = %v, want an error that lists the known encodings", err)
	}
}

func TestUnbrokenRunsAreQuick(t *testing.T) {
	c, _ := New("")
	v, err := c.load()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	var m merger
	m.split(v, bytes.Repeat([]byte("a"), 200_000)) // minutes, if every step looked at the whole
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("a run of 200 kB took %v", took)
	}
}

// sources gives real texts of different kinds and sizes: JSON, texts, pages and some code of the Go installation.
func sources(t testing.TB) map[string][]byte {
	found := map[string][]byte{}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil
	}
	root := strings.TrimSpace(string(out))
	code := 0
	_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		switch filepath.Ext(name) {
		case ".json", ".txt", ".md", ".csv", ".html":
		case ".go":
			if !strings.Contains(name, "net") || code >= 20 {
				return nil
			}
		default:
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() <= exactLimit || info.Size() > 1<<20 {
			return nil
		}
		data, err := os.ReadFile(name)
		if err == nil && utf8.Valid(data) {
			found[strings.TrimPrefix(name, root)] = data
			if filepath.Ext(name) == ".go" {
				code++
			}
		}
		return nil
	})
	return found
}

func TestEstimateNearExact(t *testing.T) {
	c, _ := New("")
	v, err := c.load()
	if err != nil {
		t.Fatal(err)
	}
	texts := sources(t)
	if len(texts) < 40 {
		t.Skipf("the Go installation has only %d long texts", len(texts))
	}
	var squares float64
	for name, data := range texts {
		want := c.count(v, data, 0, len(data))
		got, exact, err := c.Estimate(bytes.NewReader(data), int64(len(data)))
		if err != nil || exact {
			t.Fatalf("%s: Estimate = exact %v, %v", name, exact, err)
		}
		off := 100 * float64(got-want) / float64(want)
		squares += off * off
		if math.Abs(off) > 5 {
			t.Errorf("%s, %d bytes: %d for %d tokens (%+.1f %%)", name, len(data), got, want, off)
		}
	}
	t.Logf("%d texts, off by %.1f %% in the mean", len(texts), math.Sqrt(squares/float64(len(texts))))
}

func TestEstimateReadError(t *testing.T) {
	c, _ := New("")
	for name, size := range map[string]int64{"short": 100, "long": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := c.Estimate(strings.NewReader("too little"), size); err == nil {
				t.Error("no error for a text that ends early")
			}
		})
	}
}

func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c, _ := New("")
	c.Count("x")
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the vocabulary takes %d bytes", grown)
	}
	runtime.KeepAlive(c)
}

func FuzzCount(f *testing.F) {
	for _, text := range samples {
		f.Add(text)
	}
	counters := map[string]*Counter{}
	for _, name := range []string{"o200k_base", "cl100k_base", "r50k_base"} {
		counters[name], _ = New(name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		for name, c := range counters {
			if got, want := c.Count(text), oracle(t, name, text); got != want {
				t.Errorf("%s: Count(%q) = %d, want %d", name, text, got, want)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		c, _ := New("")
		c.Count("x")
	}
}

func BenchmarkCount16K(b *testing.B) {
	c, _ := New("")
	text := strings.Repeat(samples["json"]+samples["words"], 200)[:16<<10]
	c.Count("x")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.Count(text)
	}
}
