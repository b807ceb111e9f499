// Package seal makes texts that others carry for us but can neither read, change, nor use twice.
package seal

import (
	"container/list"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Why a text is refused.
var (
	ErrForeign = errors.New("not sealed by this proxy, or changed on its way")
	ErrOther   = errors.New("sealed for another caller or another request")
	ErrExpired = errors.New("expired")
	ErrUsed    = errors.New("used already")
)

// remembered is how many opened texts are known until they expire; of more the oldest is forgotten.
const remembered = 1 << 16

// State is what a sealed text says.
type State struct {
	// Principal and Digest say who may bring it back, and with which request.
	Principal string `json:"p,omitempty"`
	Digest    string `json:"d"`
	// Expires is when it is worth nothing any more.
	Expires time.Time `json:"e"`
	// Call names what waits for it, "" if nothing does.
	Call string `json:"c,omitempty"`
	// Inner is what somebody behind us wanted carried, nil if nothing.
	Inner json.RawMessage `json:"i,omitempty"`
}

// Sealer seals and opens texts. It is safe for concurrent use.
type Sealer struct {
	aead cipher.AEAD

	mu   sync.Mutex
	used map[string]*list.Element
	age  list.List // of opened, oldest first
}

type opened struct {
	nonce   string
	expires time.Time
}

// New makes a Sealer. Those with the same key open each other's texts; a nil key is random.
func New(key []byte) (*Sealer, error) {
	if key == nil {
		key = make([]byte, sha256.Size)
		rand.Read(key)
	}
	sum := sha256.Sum256(key)
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return &Sealer{aead: aead, used: map[string]*list.Element{}}, nil
}

// Seal makes the text.
func (s *Sealer) Seal(state State) string {
	plain, err := json.Marshal(state)
	if err != nil { // only an Inner that is no JSON: a bug of ours
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, nil))
}

// Open reads a text that principal brought with the request of digest. It does so once: the second time the error
// is ErrUsed, as long as the first is remembered.
func (s *Sealer) Open(text, principal, digest string) (State, error) {
	var state State
	box, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return state, ErrForeign
	}
	plain, err := s.aead.Open(nil, nil, box, nil)
	if err != nil || json.Unmarshal(plain, &state) != nil {
		return State{}, ErrForeign
	}
	switch {
	case state.Principal != principal || state.Digest != digest:
		return State{}, ErrOther
	case !time.Now().Before(state.Expires):
		return State{}, ErrExpired
	case !s.first(string(box[:12]), state.Expires):
		return State{}, ErrUsed
	}
	return state, nil
}

// first notes that a text was opened, and says whether it was for the first time.
func (s *Sealer) first(nonce string, expires time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[nonce] != nil {
		return false
	}
	for e := s.age.Front(); e != nil && (s.age.Len() >= remembered || time.Now().After(e.Value.(opened).expires)); e = s.age.Front() {
		delete(s.used, s.age.Remove(e).(opened).nonce)
	}
	s.used[nonce] = s.age.PushBack(opened{nonce, expires})
	return true
}
