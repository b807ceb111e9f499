package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/wholefile"
)

// tokenPrefix begins every token of ours, so that secret scanners and Authenticate know it.
const tokenPrefix = "pdt_"

// maxTokenFile is the most bytes read of a file of tokens.
const maxTokenFile = 16 << 20

// Sentinels of changes to a TokenFile.
var (
	ErrTokenExists = errors.New("a token of that name exists")
	ErrNoToken     = errors.New("there is no token of that name")
	ErrTokenName   = errors.New("the name of a token has 1 to 128 bytes without spaces, control characters and @")
)

// Token is what is kept of a bearer token; the token itself is not.
type Token struct {
	// Name is unique in its file and holds no @; it is the principal.
	Name string `json:"name"`
	// Role names the rights it has; "" means those of the principal.
	Role    string     `json:"role,omitempty"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"` // nil: never
	// Hash is the hex SHA-256 of the token. The token has 130 random bits, so a slow hash would add nothing.
	Hash string `json:"hash"`
}

// TokenFile keeps tokens in a JSON file of mode 0600. Changes made by another process count at once. It is a Source.
type TokenFile struct {
	path string
	now  func() time.Time

	mu     sync.Mutex
	stamp  stamp // of the file as it was read
	tokens []Token
}

// stamp tells versions of a file apart.
type stamp struct {
	size     int64
	modified time.Time
	there    bool
}

// OpenTokens returns the file at path, which need not exist yet.
func OpenTokens(path string) *TokenFile { return &TokenFile{path: path, now: time.Now} }

// List returns all tokens in the order they were made.
func (f *TokenFile) List() ([]Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(); err != nil {
		return nil, err
	}
	return slices.Clone(f.tokens), nil
}

// Create makes a token and returns it: the only time that it can be seen. A life of 0 is without end.
// It fails with ErrTokenExists, and with ErrTokenName for a name that holds an @ or has not 1 to 128 bytes.
func (f *TokenFile) Create(name, role string, life time.Duration) (string, error) {
	if name == "" || len(name) > 128 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '@' }) {
		return "", ErrTokenName
	}
	token := tokenPrefix + rand.Text()
	t := Token{Name: name, Role: role, Created: f.now().UTC().Truncate(time.Second), Hash: hashOf(token)}
	if life > 0 {
		end := t.Created.Add(life)
		t.Expires = &end
	}
	err := f.change(func(tokens []Token) ([]Token, error) {
		if slices.ContainsFunc(tokens, func(o Token) bool { return o.Name == name }) {
			return nil, fmt.Errorf("%w: %q", ErrTokenExists, name)
		}
		return append(slices.Clone(tokens), t), nil
	})
	return token, err
}

// Revoke removes a token; from then on it lets nobody in. It fails with ErrNoToken.
func (f *TokenFile) Revoke(name string) error {
	return f.change(func(tokens []Token) ([]Token, error) {
		kept := slices.DeleteFunc(slices.Clone(tokens), func(t Token) bool { return t.Name == name })
		if len(kept) == len(tokens) {
			return nil, fmt.Errorf("%w: %q", ErrNoToken, name)
		}
		return kept, nil
	})
}

func (f *TokenFile) identify(_ context.Context, credential string) (Identity, error) {
	if !strings.HasPrefix(credential, tokenPrefix) {
		return Identity{}, errOther
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	hash := []byte(hashOf(credential))
	for _, t := range f.tokens {
		if subtle.ConstantTimeCompare(hash, []byte(t.Hash)) != 1 {
			continue
		}
		if t.Expires != nil && !f.now().Before(*t.Expires) {
			return Identity{}, fmt.Errorf("%w: the token has expired", ErrInvalid)
		}
		return Identity{Principal: t.Name, Role: t.Role}, nil
	}
	return Identity{}, ErrInvalid
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// read brings tokens up to the file. The lock is held. A file that cannot be read keeps nobody's rights alive.
func (f *TokenFile) read() error {
	now, err := stampOf(f.path)
	if err != nil {
		return err
	}
	if now == f.stamp {
		return nil
	}
	tokens, err := readTokens(f.path)
	if err != nil {
		return err
	}
	f.stamp, f.tokens = now, tokens
	return nil
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, fmt.Errorf("look at the tokens: %w", err)
	}
	return stamp{info.Size(), info.ModTime(), true}, nil
}

func readTokens(path string) ([]Token, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the tokens: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxTokenFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	if len(data) > maxTokenFile {
		return nil, fmt.Errorf("read the tokens: %s is larger than %d MiB", path, maxTokenFile>>20)
	}
	var kept struct {
		Tokens []Token `json:"tokens"`
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("read the tokens in %s: %w", path, err)
	}
	return kept.Tokens, nil
}

// change replaces the file whole, so that a reader sees the old tokens or the new ones. Two processes take turns.
func (f *TokenFile) change(edit func([]Token) ([]Token, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the tokens: %w", err)
	}
	unlock, err := lock(f.path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	tokens, err := readTokens(f.path)
	if err != nil {
		return err
	}
	if tokens, err = edit(tokens); err != nil {
		return err
	}
	body, err := json.MarshalIndent(map[string][]Token{"tokens": tokens}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	if err := wholefile.Write(f.path, append(body, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	return nil
}

const (
	lockTries = 200
	lockPause = 10 * time.Millisecond
	lockAge   = 10 * time.Second // a change takes milliseconds: an older lock is a dead process's
)

// lock takes turns with other processes by a file that only one can create.
func lock(path string) (unlock func(), err error) {
	for range lockTries {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return func() { _ = os.Remove(path) }, file.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("lock the tokens: %w", err)
		}
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > lockAge {
			_ = os.Remove(path)
			continue
		}
		time.Sleep(lockPause)
	}
	return nil, fmt.Errorf("lock the tokens: another process holds %s", path)
}
