// Package trust remembers what each tool said of itself when a person trusted it, and tells what is different now.
//
// A server that nobody looked at is trusted as it is first seen; from then on a tool that is new or says something else
// is a Change until a person accepts it.
package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/wholefile"
)

// maxBook is the most bytes read of a book.
const maxBook = 256 << 20

// Pin is what a tool said of itself.
type Pin struct {
	// Hash is the hex SHA-256 of Said.
	Hash string `json:"hash"`
	// Said is the tool's entry: its name, title, description, schemas and annotations, keys in order.
	Said json.RawMessage `json:"said"`
}

// Change is a tool that is not what was trusted.
type Change struct {
	Tool string
	// Was is what was trusted, nil of a new tool; Is is what the tool says now, nil of one that is gone.
	Was, Is json.RawMessage
}

// Kind says in a word what happened: new, changed or gone.
func (c Change) Kind() string {
	switch {
	case c.Was == nil:
		return "new"
	case c.Is == nil:
		return "gone"
	}
	return "changed"
}

// Text shows the difference line by line. What a person would not see is written out: a hidden character as \u200b.
func (c Change) Text() string {
	return string(diff.Diff("trusted", shown(c.Was), "now", shown(c.Is)))
}

// shown writes an entry in lines of plain ASCII escapes where a character could hide.
func shown(raw json.RawMessage) []byte {
	if raw == nil {
		return nil
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return raw
	}
	var out bytes.Buffer
	for _, r := range b.String() {
		if r != '\n' && clean.Text(string(r)) != string(r) {
			fmt.Fprintf(&out, "\\u%04x", r)
			continue
		}
		out.WriteRune(r)
	}
	return append(out.Bytes(), '\n')
}

// Book is the file of what was trusted. It is safe for concurrent use, and for use by several processes.
type Book struct {
	path string

	mu      sync.Mutex
	stamp   stamp
	servers map[string]map[string]Pin // by server and tool
	hashes  map[*catalog.Entry]string
}

type stamp struct {
	size     int64
	modified time.Time
}

// maxHashes is how many entries' hashes are remembered before they are forgotten together.
const maxHashes = 200_000

// Open returns the book at path, which need not exist yet.
func Open(path string) *Book {
	return &Book{path: path, hashes: map[*catalog.Entry]string{}}
}

// Known reports whether a server was trusted before.
func (b *Book) Known(server string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.read(); err != nil {
		return false, err
	}
	return b.servers[server] != nil, nil
}

// Trusts reports whether a tool says what was trusted. Tools of a server that is not known yet are trusted; anything but
// a tool is.
func (b *Book) Trusts(e *catalog.Entry) (bool, error) {
	if e.Kind != catalog.Tool {
		return true, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.read(); err != nil {
		return false, err
	}
	pins := b.servers[e.Server]
	return pins == nil || pins[e.Name].Hash == b.hash(e), nil
}

// Compare returns what of a server is not what was trusted, in its order, what is gone last.
func (b *Book) Compare(s *catalog.Server) ([]Change, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.read(); err != nil {
		return nil, err
	}
	pins := b.servers[s.Name]
	if pins == nil {
		return nil, nil
	}
	var all []Change
	there := map[string]bool{}
	for _, e := range s.Entries {
		if e.Kind != catalog.Tool {
			continue
		}
		there[e.Name] = true
		if pin := pins[e.Name]; pin.Hash != b.hash(e) {
			all = append(all, Change{e.Name, pin.Said, said(e)})
		}
	}
	var gone []Change
	for name, pin := range pins {
		if !there[name] {
			gone = append(gone, Change{Tool: name, Was: pin.Said})
		}
	}
	slices.SortFunc(gone, func(x, y Change) int { return bytes.Compare([]byte(x.Tool), []byte(y.Tool)) })
	return append(all, gone...), nil
}

// Accept trusts a server as it is now: the named tools, or all of them.
func (b *Book) Accept(s *catalog.Server, tools ...string) error {
	return b.change(func(servers map[string]map[string]Pin) {
		pins := map[string]Pin{}
		if len(tools) > 0 {
			for name, pin := range servers[s.Name] {
				if !slices.Contains(tools, name) {
					pins[name] = pin
				}
			}
		}
		for _, e := range s.Entries {
			if e.Kind == catalog.Tool && (len(tools) == 0 || slices.Contains(tools, e.Name)) {
				text := said(e)
				pins[e.Name] = Pin{hashOf(text), text}
			}
		}
		servers[s.Name] = pins
	})
}

// Forget trusts a server no longer in particular: it is trusted as it is seen next.
func (b *Book) Forget(server string) error {
	return b.change(func(servers map[string]map[string]Pin) { delete(servers, server) })
}

// hash is that of what an entry says. b.mu is held.
func (b *Book) hash(e *catalog.Entry) string {
	h, known := b.hashes[e]
	if !known {
		if len(b.hashes) >= maxHashes {
			clear(b.hashes)
		}
		h = hashOf(said(e))
		b.hashes[e] = h
	}
	return h
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// said is what a tool says of itself, without what means nothing to a model: pictures and metadata. The order of keys
// does not count.
func said(e *catalog.Entry) json.RawMessage {
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(e.Raw))
	d.UseNumber()
	if d.Decode(&all) != nil {
		return e.Raw
	}
	delete(all, "_meta")
	delete(all, "icons")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(all) != nil {
		return e.Raw
	}
	return bytes.TrimSpace(b.Bytes())
}

// read brings the book up to its file. b.mu is held.
func (b *Book) read() error {
	info, err := os.Stat(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		b.servers, b.stamp = nil, stamp{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at what is trusted: %w", err)
	}
	now := stamp{info.Size(), info.ModTime()}
	if now == b.stamp && b.servers != nil {
		return nil
	}
	servers, err := readBook(b.path)
	if err != nil {
		return err
	}
	b.servers, b.stamp = servers, now
	return nil
}

func readBook(path string) (map[string]map[string]Pin, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]map[string]Pin{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open what is trusted: %w", err)
	}
	defer file.Close()
	servers := map[string]map[string]Pin{}
	if err := json.NewDecoder(io.LimitReader(file, maxBook)).Decode(&servers); err != nil {
		return nil, fmt.Errorf("read what is trusted in %s: %w", path, err)
	}
	for _, pins := range servers {
		for name, p := range pins { // the encoder lays texts out anew
			var line bytes.Buffer
			if json.Compact(&line, p.Said) == nil {
				p.Said = line.Bytes()
				pins[name] = p
			}
		}
	}
	return servers, nil
}

// change replaces the file whole.
func (b *Book) change(edit func(map[string]map[string]Pin)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	servers, err := readBook(b.path)
	if err != nil {
		return err
	}
	edit(servers)
	body, err := json.MarshalIndent(servers, "", " ")
	if err != nil {
		return fmt.Errorf("write what is trusted: %w", err)
	}
	if err := wholefile.Write(b.path, body, 0o600); err != nil {
		return fmt.Errorf("write what is trusted: %w", err)
	}
	b.stamp = stamp{}
	return b.read()
}
