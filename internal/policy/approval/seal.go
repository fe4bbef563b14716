package approval

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"tipstaff/internal/strictjson"
)

// State is what a client of the stateless protocol brings back with an answer.
type State struct {
	Handle    string    `json:"h"`
	Principal string    `json:"p"`
	Tool      string    `json:"t"`
	Arguments string    `json:"a"` // see [DigestOf]
	Expires   time.Time `json:"e"`
	Runner    string    `json:"r,omitempty"` // that has asked; "": the server that has sealed
}

// DigestOf returns a digest of the arguments of a call, byte for byte.
func DigestOf(arguments []byte) string {
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:])
}

// Sealer seals states. Its methods may be called from several goroutines at once.
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns a Sealer with a key of its own, which lives as long as the process.
func NewSealer() (*Sealer, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return NewSealerOf(key)
}

// NewSealerOf returns a Sealer with a key of 32 bytes, for servers that open what the
// others have sealed.
func NewSealerOf(key []byte) (*Sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead}, nil
}

// purpose is authenticated with each state, so that nothing that was sealed for
// another purpose opens.
var purpose = []byte("tipstaff approval state 1")

// Seal encrypts a state with AES-256-GCM and a random nonce.
func (s *Sealer) Seal(st State) (string, error) {
	data, err := json.Marshal(st)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, data, purpose)), nil
}

// ErrSeal says that a text is no state of this server, or was changed since it
// was sealed.
var ErrSeal = errors.New("the request state was not made by this server or has been changed")

// maxSealed is the length in bytes beyond which a text is refused unread.
const maxSealed = 4 << 10

// Unseal opens what [Sealer.Seal] has sealed. Any other text gives [ErrSeal].
func (s *Sealer) Unseal(text string) (State, error) {
	if len(text) > maxSealed || strings.ContainsAny(text, "\r\n") { // the decoder would skip line ends
		return State{}, ErrSeal
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return State{}, ErrSeal
	}
	data, err = s.aead.Open(nil, nil, data, purpose)
	if err != nil {
		return State{}, ErrSeal
	}
	var st State
	if strictjson.Unmarshal(data, &st) != nil {
		return State{}, ErrSeal
	}
	return st, nil
}
