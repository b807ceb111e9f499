package dispatch

import (
	"fmt"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

// TestDefinitionFits holds that the definition costs at most 500 tokens whatever the connections are called.
func TestDefinitionFits(t *testing.T) {
	counter, err := loadedCounter()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		names func(i int) string
	}{
		{"none", nil},
		{"short names", func(i int) string { return fmt.Sprintf("c%d", i) }},
		{"long names", func(i int) string { return fmt.Sprintf("a-rather-long-connection-name-%d", i) }},
		{"names that cost much", func(i int) string { return fmt.Sprintf("q%dz_X-%d", i*7919, i) }},
		{"another script", func(i int) string { return fmt.Sprintf("データ庫%d", i) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &catalog.Snapshot{}
			for i := 0; tc.names != nil && i < 60; i++ {
				s.Servers = append(s.Servers, &catalog.Server{Name: tc.names(i)})
			}
			for _, asString := range []bool{false, true} {
				for _, code := range []bool{false, true} {
					got := counter.Count(string(define(s, func(string) bool { return true }, asString, code)))
					if got > 500 {
						t.Errorf("got %d tokens (arguments as a string: %v, code: %v), want at most 500", got, asString, code)
					}
				}
			}
		})
	}
}
