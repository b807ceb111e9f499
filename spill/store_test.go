package spill_test

import (
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/spill"
	"github.com/proxy-dispatch/proxy-dispatch/spill/spilltest"
)

func TestLocalStore(t *testing.T) {
	spilltest.Store(t, func(t *testing.T) spill.Store {
		l, err := spill.OpenLocal(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		return l
	})
}
