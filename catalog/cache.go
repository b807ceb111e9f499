package catalog

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
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// A cache file is one JSON object: {"version", "refreshed", "hello", "lists": [{"method", "entries"}]}, hello and
// entries byte for byte as the server sent them. It is read only when its version is cacheVersion.
const cacheVersion = "1"

var errCorrupt = errors.New("file is corrupt")

var plainID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// cachePath returns the file of a server ID in dir. An ID that is no plain word is hashed: it must not lead elsewhere.
func cachePath(dir, id string) string {
	if !plainID.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = "id-" + hex.EncodeToString(sum[:])
	}
	return filepath.Join(dir, id+".json")
}

// saveCache writes what is known of s to dir (made with mode 0700 if absent): a file of mode 0600 that appears whole or
// not at all.
func saveCache(dir string, s *Server) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make cache folder: %w", err)
	}
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("create cache file: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(encodeCache(s)); err != nil {
		f.Close()
		return fmt.Errorf("write cache file: %w", err)
	}
	if err = f.Close(); err != nil {
		return fmt.Errorf("write cache file: %w", err)
	}
	if err = os.Rename(f.Name(), cachePath(dir, s.ID)); err != nil {
		return fmt.Errorf("put cache file in place: %w", err)
	}
	return nil
}

func encodeCache(s *Server) []byte {
	var b bytes.Buffer
	// By hand, for encoding/json would compact and escape the raw parts.
	fmt.Fprintf(&b, `{"version":%s,"refreshed":%q,"hello":`, cacheVersion, s.Refreshed.UTC().Format(time.RFC3339Nano))
	if b.Write(s.hello); len(s.hello) == 0 {
		b.WriteString("null")
	}
	b.WriteString(`,"lists":[`)
	for i, l := range lists {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n{\"method\":%q,\"entries\":[", l.method)
		separator := "\n"
		for _, e := range s.Entries {
			if e.Kind == l.kind && e.Template == l.template {
				b.WriteString(separator)
				b.Write(e.Raw)
				separator = ",\n"
			}
		}
		b.WriteString("]}")
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// loadCache fills s from the cache file of its ID. The error is fs.ErrNotExist if there is none; s is untouched then and
// on every other error.
func loadCache(dir string, s *Server, maxBytes int64) error {
	f, err := os.Open(cachePath(dir, s.ID))
	if err != nil {
		return fmt.Errorf("open cache file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open cache file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxBytes {
		return fmt.Errorf("read cache file: %w: no regular file of at most %d bytes", errCorrupt, maxBytes)
	}
	// The entries keep parts of this buffer: made to measure, it holds nothing else.
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return fmt.Errorf("read cache file: %w", err)
	}
	return decodeCache(data, s)
}

// decodeCache fills s from the bytes of a cache file, parts of which s keeps.
func decodeCache(data []byte, s *Server) error {
	if !rawjson.Valid(data) {
		return fmt.Errorf("read cache file: %w: invalid JSON", errCorrupt)
	}
	var version string
	var read Server
	c := newCollector(s.Name)
	for key, v := range rawjson.Members(data) {
		var err error
		switch key {
		case "version":
			version = string(v)
		case "refreshed":
			read.Refreshed, err = time.Parse(time.RFC3339Nano, rawjson.Unquote(v))
		case "hello":
			if present(v) != nil {
				err = read.readHello(v)
			}
		case "lists":
			for l := range rawjson.Elements(v) {
				c.addCached(l)
			}
		}
		if err != nil {
			return fmt.Errorf("read cache file: %w: %w", errCorrupt, err)
		}
	}
	if version != cacheVersion || read.Refreshed.IsZero() {
		return fmt.Errorf("read cache file: %w: version %s, not %s", errCorrupt, clean.Clip(version, 20), cacheVersion)
	}
	read.Name, read.Alias, read.ID, read.Description = s.Name, s.Alias, s.ID, s.Description
	read.Entries, read.Skipped = c.entries, c.reports()
	read.Known, read.Cached = true, true
	*s = read
	return nil
}

// addCached adds the entries of one cached list; one with an unknown method is passed over.
func (c *collector) addCached(raw json.RawMessage) {
	var method string
	var items []json.RawMessage
	for key, v := range rawjson.Members(raw) {
		switch key {
		case "method":
			method = rawjson.Unquote(v)
		case "entries":
			items = slices.Collect(rawjson.Elements(v))
		}
	}
	for _, l := range lists {
		if l.method == method {
			c.add(l, items)
		}
	}
}

// absent reports that there is simply no cache file.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
