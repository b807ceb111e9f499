// Package tokens says what a text costs a model.
package tokens

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Default is the encoding New takes for an empty name.
const Default = "o200k_base"

const (
	exactLimit = 32 << 10 // bytes counted exactly; longer texts are sampled
	windows    = 384      // samples taken from a long text
	window     = 128      // bytes of one sample
	margin     = 32       // bytes read around a sample, so that no token is cut at its border
)

// Counter counts the tokens of texts in one encoding. It is safe for concurrent use. The vocabulary is
// loaded by the first count, not by New, and costs about 5 MB from then on.
type Counter struct {
	encoding encoding
	load     func() (*vocabulary, error)
}

// New returns a counter for an encoding by its published name; "" means Default. An unknown name is an
// error that lists the known ones. Nothing is loaded yet.
func New(name string) (*Counter, error) {
	if name == "" {
		name = Default
	}
	e, ok := encodings[name]
	if !ok {
		return nil, fmt.Errorf("unknown encoding %q (known: %s)", name, strings.Join(Encodings(), ", "))
	}
	return &Counter{encoding: e, load: sync.OnceValues(func() (*vocabulary, error) { return readVocabulary(e.file) })}, nil
}

// Encodings lists the names New knows, sorted.
func Encodings() []string {
	var names []string
	for name := range encodings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Count says how many tokens text has: exactly up to 32 KiB, by samples beyond. Bytes that are no UTF-8
// count as replacement characters. The time taken never grows faster than n log n.
func (c *Counter) Count(text string) int {
	n, _, _ := c.Estimate(strings.NewReader(text), int64(len(text))) // a string can always be read
	return n
}

// Estimate counts the first size bytes of r, which may be called at any offset. Up to 32 KiB the count
// is exact; beyond, 384 windows spread over the text are counted and scaled, always the same ones for
// the same size. The error is r's.
func (c *Counter) Estimate(r io.ReaderAt, size int64) (n int, exact bool, err error) {
	n, within, err := c.Measure(r, size)
	return n, within == 0 && err == nil, err
}

// Measure is Estimate with its error bar: with a probability of about 95 % the true count differs from n by no more
// than within, as far as the samples can tell from each other. 0 means an exact count.
func (c *Counter) Measure(r io.ReaderAt, size int64) (n, within int, err error) {
	if size <= 0 {
		return 0, 0, nil
	}
	v, err := c.load()
	if err != nil {
		// The vocabulary is part of the binary; without it a rough figure is better than none.
		return int(size/4) + 1, int(size/4) + 1, nil
	}
	if size <= exactLimit {
		buf := make([]byte, size)
		if err := readFull(r, buf, 0); err != nil {
			return 0, 0, fmt.Errorf("read text: %w", err)
		}
		text := whole(buf)
		return c.count(v, text, 0, len(text)), 0, nil
	}
	return c.sample(v, r, size)
}

// sample counts one window at a random place of each of equally long stretches of the text. The first
// byte of a token decides which window it belongs to.
func (c *Counter) sample(v *vocabulary, r io.ReaderAt, size int64) (n, within int, err error) {
	random := rand.New(rand.NewPCG(uint64(size), 1))
	buf := make([]byte, margin+window+margin)
	stretch := size / windows
	var found, seen int64
	var rates []float64 // tokens a byte, by window
	for i := range int64(windows) {
		from := i*stretch + random.Int64N(max(stretch-window, 1))
		start := max(from-margin, 0)
		end := min(from+window+margin, size)
		part := buf[:end-start]
		if err := readFull(r, part, start); err != nil {
			return 0, 0, fmt.Errorf("read text at %d: %w", start, err)
		}
		low, high := border(part, int(from-start)), border(part, int(min(from+window, size)-start))
		first := border(part, 0)
		text := whole(part[first:])
		size := high - low
		low, high = low-first, high-first
		if len(text) != len(part)-first { // replaced bytes moved the borders: take it all
			low, high, size = 0, len(text), len(part)-first
		}
		n := c.count(v, text, low, high)
		found += int64(n)
		seen += int64(size)
		rates = append(rates, float64(n)/float64(max(size, 1)))
	}
	n = int(float64(found) * float64(size) / float64(max(seen, 1)))
	return n, max(int(spread(rates)*float64(size)), 1), nil
}

// spread is twice the standard error of the mean.
func spread(values []float64) float64 {
	n := float64(len(values))
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += (v - sum/n) * (v - sum/n)
	}
	return 2 * math.Sqrt(squares/(n*(n-1)))
}

// count counts the tokens of text that begin at an offset in [low, high).
func (c *Counter) count(v *vocabulary, text []byte, low, high int) int {
	var m merger
	n := 0
	for at := 0; at < len(text) && at < high; {
		size := c.encoding.next(text[at:])
		piece := text[at : at+size]
		switch {
		case v.rank(piece) >= 0:
			if at >= low {
				n++
			}
		default:
			for _, start := range m.split(v, piece) {
				if begin := at + int(start); begin >= low && begin < high {
					n++
				}
			}
		}
		at += size
	}
	return n
}

func readFull(r io.ReaderAt, buf []byte, at int64) error {
	n, err := r.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// whole returns text as valid UTF-8, the replacement character in place of every stray byte.
func whole(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return []byte(string([]rune(string(text))))
}

// border moves at forward to the next first byte of a character.
func border(text []byte, at int) int {
	for n := 0; at < len(text) && n < utf8.UTFMax && !utf8.RuneStart(text[at]); n++ {
		at++
	}
	return at
}
