package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestFreshness(t *testing.T) {
	tests := []struct {
		raw  string
		want time.Duration
	}{
		{`300000`, 5 * time.Minute}, {`3e5`, 5 * time.Minute}, {`1`, leastFresh}, {`1e30`, mostFresh},
		{`0`, 0}, {`-5`, 0}, {`"5000"`, 0}, {`null`, 0}, {`{}`, 0},
	}
	for _, tt := range tests {
		if got := freshness(json.RawMessage(tt.raw)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.raw, got, tt.want)
		}
	}
}

// Lists are read again at the first look after their time, once, and not while nobody looks.
func TestStaleListsAreReadAgain(t *testing.T) {
	page := func(ttl, cursor string) func(string) (string, error) {
		return func(at string) (string, error) {
			if at == "" && cursor != "" {
				return fmt.Sprintf(`{"tools":[{"name":"one"}],"ttlMs":900000,"nextCursor":%q}`, cursor), nil
			}
			return `{"tools":[{"name":"two"}]` + ttl + `}`, nil
		}
	}
	tests := []struct {
		name   string
		answer func(string) (string, error)
		looks  []time.Duration // apart
		want   int             // times that the list was read
	}{
		{"no word", page("", ""), []time.Duration{time.Hour, time.Hour}, 1},
		{"zero", page(`,"ttlMs":0`, ""), []time.Duration{time.Hour}, 1},
		{"still fresh", page(`,"ttlMs":60000`, ""), []time.Duration{59 * time.Second}, 1},
		{"stale", page(`,"ttlMs":60000`, ""), []time.Duration{61 * time.Second}, 2},
		{"nobody looked for long", page(`,"ttlMs":60000`, ""), []time.Duration{24 * time.Hour}, 2},
		{"looked at often", page(`,"ttlMs":60000`, ""), []time.Duration{61 * time.Second, 0, 0, time.Second, 61 * time.Second}, 3},
		{"the page with the shortest time", page(`,"ttlMs":60000`, "next"), []time.Duration{61 * time.Second}, 2},
		{"the first page alone", page("", "next"), []time.Duration{61 * time.Second, 15 * time.Minute}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{hellos: map[string]string{"a": toolsOnly}, answers: map[string]func(string) (string, error){"a tools/list": tt.answer}}
				c := start(t, f, Options{}, "a", "never asked")
				if err := c.Refresh(context.Background(), "a"); err != nil {
					t.Fatal(err)
				}
				for _, apart := range tt.looks {
					time.Sleep(apart)
					c.Snapshot()
					synctest.Wait()
				}
				got := len(slices.DeleteFunc(f.asked, func(what string) bool { return what != "a tools/list" }))
				if got != tt.want {
					t.Errorf("read %d times, want %d", got, tt.want)
				}
				c.Close()
			})
		})
	}
}

// A server that does not answer when its lists are stale is asked again after a while, and what was known stays.
func TestStaleListsOfAFailingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{hellos: map[string]string{"a": toolsOnly}, answers: map[string]func(string) (string, error){
			"a tools/list": func(string) (string, error) { return `{"tools":[{"name":"one"}],"ttlMs":1000}`, nil },
		}}
		c := start(t, f, Options{}, "a")
		c.Refresh(context.Background(), "a")
		f.set("a", "tools/list", func(string) (string, error) { return "", errors.New("down") })
		for range 100 { // looks within 20 seconds
			time.Sleep(200 * time.Millisecond)
			c.Snapshot()
			synctest.Wait()
		}
		s := c.Snapshot().Server("a")
		if n := len(f.asked); n != 4 || s.Err == nil || names(s) != "one" {
			t.Errorf("asked %v; got %s, %v; want two refreshes of which one failed", f.asked, names(s), s.Err)
		}
		c.Close()
	})
}
