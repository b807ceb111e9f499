package store_test

import (
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/spill/spilltest"
	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

func TestLocalStore(t *testing.T) {
	spilltest.Store(t, func(t *testing.T) store.Store {
		l, err := store.OpenLocal(t.TempDir())
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
