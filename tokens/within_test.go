package tokens

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The error bar holds the exact count in nearly all cases, and is not wider than it must be.
func TestMeasure(t *testing.T) {
	c, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	outside, cases := 0, 0
	for range 10 {
		for _, line := range []func() string{
			func() string {
				return fmt.Sprintf(`{"id":%d,"name":"record-%d","amount":%.2f}`, r.IntN(1e6), r.IntN(1e6), r.Float64()*1000)
			},
			func() string {
				return "2026-01-02T03:04:05Z INFO request served in " + fmt.Sprint(r.IntN(1e4)) + " ms for user"
			},
			func() string { return strings.Repeat("It was the best of times, ", 1+r.IntN(3)) },
		} {
			var text strings.Builder
			for text.Len() < 60_000+r.IntN(200_000) {
				text.WriteString(line() + "\n")
			}
			exact := 0
			for _, part := range strings.SplitAfter(text.String(), "\n") { // a line is no part of a token of the next
				exact += c.Count(part)
			}
			n, within, err := c.Measure(strings.NewReader(text.String()), int64(text.Len()))
			if err != nil || within < 1 || within*10 > n {
				t.Errorf("%d ± %d of %d, %v", n, within, exact, err)
			}
			if cases++; n < exact-within || n > exact+within {
				outside++
			}
			if off := float64(n-exact) / float64(exact); off > 0.05 || off < -0.05 {
				t.Errorf("%d of %d: %.1f %% off", n, exact, off*100)
			}
		}
	}
	if outside*5 > cases {
		t.Errorf("%d of %d counts outside of their error bar", outside, cases)
	}
}
