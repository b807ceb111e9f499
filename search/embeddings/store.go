package embeddings

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// key is the hash of a text.
type key [sha256.Size]byte

func keyOf(text string) key { return sha256.Sum256([]byte(text)) }

// store keeps vectors in files of one batch each, in a folder for what made them. A file is written whole under
// another name first, so that one that is there can be read; one that cannot is passed over. The zero store keeps
// nothing.
//
// A file holds records of one length: the key, then the numbers as little-endian float32. Its first four bytes are
// how many numbers a record has.
type store struct{ dir string }

// maxFiles bounds the folder; the oldest go first.
const maxFiles = 4096

func newStore(o Options, url string) store {
	if o.Dir == "" {
		return store{}
	}
	made := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", url, o.Model, o.Dimensions))
	return store{filepath.Join(o.Dir, hex.EncodeToString(made[:8]))}
}

// load returns the vectors of keys that are there, nil for others.
func (s store) load(keys []key) [][]float32 {
	out := make([][]float32, len(keys))
	if s.dir == "" {
		return out
	}
	places := map[key][]int{}
	for i, k := range keys {
		places[k] = append(places[k], i)
	}
	for _, name := range s.files() {
		data, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			continue
		}
		eachRecord(data, func(k key, numbers []byte) {
			at := places[k]
			if len(at) == 0 || out[at[0]] != nil {
				return
			}
			v := make([]float32, len(numbers)/4)
			for i := range v {
				v[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*i:]))
			}
			for _, i := range at {
				out[i] = v
			}
		})
	}
	return out
}

func eachRecord(data []byte, visit func(k key, numbers []byte)) {
	if len(data) < 4 {
		return
	}
	n := int(binary.LittleEndian.Uint32(data))
	if n <= 0 || n > maxLength {
		return
	}
	record := len(key{}) + 4*n
	for data = data[4:]; len(data) >= record; data = data[record:] {
		visit(key(data[:len(key{})]), data[len(key{}):record])
	}
}

// save writes one batch.
func (s store) save(keys []key, vectors [][]float32) error {
	if s.dir == "" || len(keys) == 0 {
		return nil
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(vectors[0])))
	for i, v := range vectors {
		data = append(data, keys[i][:]...)
		for _, f := range v {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
		}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("keep embeddings: %w", err)
	}
	name := filepath.Join(s.dir, rand.Text())
	if err := os.WriteFile(name+".part", data, 0o600); err != nil {
		return fmt.Errorf("keep embeddings: %w", errors.Join(err, forget(name+".part")))
	}
	if err := os.Rename(name+".part", name+".vectors"); err != nil {
		return fmt.Errorf("keep embeddings: %w", errors.Join(err, forget(name+".part")))
	}
	files := s.files()
	for _, old := range files[:max(0, len(files)-maxFiles)] {
		if err := forget(filepath.Join(s.dir, old)); err != nil {
			return fmt.Errorf("drop old embeddings: %w", err)
		}
	}
	return nil
}

func forget(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// files lists the batches, the oldest first.
func (s store) files() []string {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil
	}
	age := map[string]int64{}
	var names []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".vectors") {
			names = append(names, e.Name())
			age[e.Name()] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if age[a] != age[b] {
			return int(max(-1, min(1, age[a]-age[b])))
		}
		return strings.Compare(a, b)
	})
	return names
}
