package catalog

import (
	"encoding/json"
	"strconv"
	"time"
)

// A server may say for how long its lists count as fresh. When that is over they are asked for again, at the next look
// at the catalog and not before: a catalog that nobody reads asks nobody. A change that the server tells comes sooner.

const (
	leastFresh = time.Second    // however short a server says
	mostFresh  = 24 * time.Hour // and however long
	freshAgain = 30 * time.Second
)

// freshness reads a ttlMs; zero if it says nothing.
func freshness(raw json.RawMessage) time.Duration {
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || ms <= 0 {
		return 0
	}
	if ms > float64(mostFresh/time.Millisecond) {
		return mostFresh
	}
	return max(leastFresh, time.Duration(ms)*time.Millisecond)
}

// sooner is the shorter of two times, of which zero says nothing.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Snapshot returns the current snapshot, never nil. It has servers asked again whose lists are fresh no longer,
// without waiting for that.
func (c *Catalog) Snapshot() *Snapshot {
	s := c.current.Load()
	if s.stale.IsZero() || time.Now().Before(s.stale) || c.renewed.Swap(s.Gen) == s.Gen {
		return s
	}
	now := time.Now()
	for _, one := range s.Servers {
		if !one.FreshUntil.IsZero() && !now.Before(one.FreshUntil) {
			c.Schedule(one.Name)
		}
	}
	return s
}

// earliest is when the first of the servers' lists is fresh no longer; zero is never.
func earliest(servers []*Server) (first time.Time) {
	for _, s := range servers {
		if t := s.FreshUntil; !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
