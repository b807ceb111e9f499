package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Server is what is known of one server. It is immutable once it stands in a Snapshot.
type Server struct {
	// Name is the key in the configuration, Alias c1, c2, … in the configuration's order, ID the hash of the server's
	// configuration as given in ServerOptions.
	Name, Alias, ID string
	// Description is the configuration's word on the server.
	Description string
	// Known: its lists were read, now or from the disk cache.
	Known bool
	// Cached: the lists come from the disk cache and no living session has confirmed them yet.
	Cached bool
	// Info and Capabilities are serverInfo and capabilities as sent, nil if not sent.
	Info, Capabilities json.RawMessage
	// Instructions are cleaned for reading.
	Instructions    string
	ProtocolVersion string
	// Refreshed is when the lists were read from the server; zero if never.
	Refreshed time.Time
	// FreshUntil is when the lists are to be read again, as the server says; zero if it does not.
	FreshUntil time.Time
	// Entries are its tools, resources, templates, prompts, each in the server's order.
	Entries []*Entry
	// Skipped names what the server's lists held but Entries leave out, at most 21 lines.
	Skipped []string
	// Err is why the last refresh failed, nil if it did not. What was known before stays.
	Err error

	hello json.RawMessage
	index map[entryKey]*Entry
	sum   []byte
}

// Entry returns the entry of that kind and name (for resources: URI or URI template), nil if there is none.
func (s *Server) Entry(kind Kind, name string) *Entry {
	if s.index != nil {
		return s.index[entryKey{kind, name}]
	}
	for _, e := range s.Entries {
		if e.Kind == kind && e.Name == name {
			return e
		}
	}
	return nil
}

// settle computes what lookups and the hash need from Entries. It returns s.
func (s *Server) settle() *Server {
	s.index = make(map[entryKey]*Entry, len(s.Entries))
	for _, e := range s.Entries {
		s.index[entryKey{e.Kind, e.Name}] = e
	}
	sorted := slices.Clone(s.Entries)
	slices.SortFunc(sorted, func(a, b *Entry) int {
		if n := strings.Compare(string(a.Kind), string(b.Kind)); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	h := sha256.New()
	feed(h, []byte(s.Name))
	for _, e := range sorted {
		feed(h, []byte(e.Kind))
		feed(h, []byte(e.Name))
		feed(h, []byte(e.Title))
		feed(h, described(e.Raw))
		feed(h, e.InputSchema)
		feed(h, e.OutputSchema)
		feed(h, e.Annotations)
	}
	s.sum = h.Sum(nil)
	return s
}

// described returns the description as the server wrote it: cleaning must not hide a change.
func described(raw json.RawMessage) json.RawMessage {
	for key, v := range rawjson.Members(raw) {
		if key == "description" {
			return v
		}
	}
	return nil
}

// feed writes one field with its length, so that fields cannot run into each other.
func feed(h hash.Hash, field []byte) {
	h.Write(binary.AppendUvarint(nil, uint64(len(field))))
	h.Write(field)
}

// Snapshot is the catalog at one moment: immutable, safe for concurrent use.
type Snapshot struct {
	// Gen counts the snapshots of a Catalog, from 1.
	Gen uint64
	// Servers stand in the configuration's order, disabled ones included (never Known).
	Servers []*Server
	// Hash is 16 hex digits that change when any name, title, description, schema or annotation changes, and do not
	// with states, times or the order of arrival. What is derived from entries needs to be rebuilt only when it changes.
	Hash string

	stale time.Time // when the first of its lists is to be read again; zero is never
}

// NewSnapshot makes a snapshot of servers, in their order, giving aliases to those without one. A Catalog makes its own;
// this is for catalogs that come from elsewhere. Servers must not change afterwards.
func NewSnapshot(gen uint64, servers []*Server) *Snapshot {
	h := sha256.New()
	for i, s := range servers {
		if s.sum == nil {
			s.settle()
		}
		if s.Alias == "" {
			s.Alias = alias(i)
		}
		h.Write(s.sum)
	}
	return &Snapshot{Gen: gen, Servers: servers, Hash: hex.EncodeToString(h.Sum(nil)[:8]), stale: earliest(servers)}
}

// alias returns the short name of the server at index i of the configuration.
func alias(i int) string { return fmt.Sprintf("c%d", i+1) }

// Server returns the server of that name or alias; "default" and "primary" mean the first. nil if there is none.
// A name wins over an alias.
func (s *Snapshot) Server(nameOrAlias string) *Server {
	for _, v := range s.Servers {
		if v.Name == nameOrAlias {
			return v
		}
	}
	for i, v := range s.Servers {
		if v.Alias == nameOrAlias || i == 0 && (nameOrAlias == "default" || nameOrAlias == "primary") {
			return v
		}
	}
	return nil
}

// Entry returns the entry a ref names, nil if there is none.
func (s *Snapshot) Entry(ref Ref) *Entry {
	if v := s.Server(ref.Server); v != nil {
		return v.Entry(ref.Kind, ref.Name)
	}
	return nil
}
