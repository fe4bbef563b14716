package fleet

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/plainfile"
)

// AddressCipher hides in ids the address of the gateway or runner that made them. All
// gateways and runners of one fleet have the same one. The zero AddressCipher has no
// key: it opens nothing, and making an id with it panics.
type AddressCipher struct{ key []byte }

// ReadAddressCipher reads the key from a file: 32 bytes, raw or as 64 hexadecimal digits.
func ReadAddressCipher(file string) (AddressCipher, error) {
	text, err := plainfile.Read(file, 1<<20)
	if err != nil {
		return AddressCipher{}, fmt.Errorf("cannot read the seal of ids: %w", err)
	}
	if digits := strings.TrimSpace(string(text)); len(digits) == 64 {
		if key, err := hex.DecodeString(digits); err == nil {
			return NewAddressCipher(key)
		}
	}
	seal, err := NewAddressCipher(text)
	if err != nil {
		return AddressCipher{}, fmt.Errorf("the file %s holds no seal of ids: %w; make one with: head -c 32 /dev/urandom > %s", file, err, file)
	}
	return seal, nil
}

// NewAddressCipher makes a cipher from a key of 32 bytes, which it copies.
func NewAddressCipher(key []byte) (AddressCipher, error) {
	if len(key) != 32 {
		return AddressCipher{}, fmt.Errorf("a seal has 32 bytes, and these are %d", len(key))
	}
	return AddressCipher{key: append([]byte{}, key...)}, nil
}

// Key is a key of 32 bytes that gateways and runners of one fleet have in common for a
// purpose.
func (s AddressCipher) Key(purpose string) []byte { return s.mac("tipstaff key\n", []byte(purpose)) }

// TailLength is the number of characters of the encrypted tail of an id.
const TailLength = 52

// AddressKey is an address as ids hold it: a digest of the name, and which start of it.
// The digest needs the key of the cipher, so a caller who guesses a name cannot make an
// id that leads there.
type AddressKey struct {
	name  [8]byte
	start natsx.InstanceID
}

// AddressKey returns the form of an address that ids hold.
func (s AddressCipher) AddressKey(a natsx.Address) AddressKey {
	p := AddressKey{start: a.InstanceID}
	copy(p.name[:], s.mac("tipstaff name of a runner\n", []byte(a.Name)))
	return p
}

// NewTail is the last part of a new id of what is kept at a: 16 random bytes, by
// which the id cannot be guessed, and 16 that hide the address. Two tails of one
// address have nothing in common. It has letters A to Z and digits 2 to 7.
func (s AddressCipher) NewTail(a natsx.Address) string {
	var b [32]byte
	rand.Read(b[:16]) // crypto/rand.Read never fails
	p := s.AddressKey(a)
	copy(b[16:24], p.name[:])
	copy(b[24:], p.start[:])
	s.mask(&b)
	return tails.EncodeToString(b[:])
}

// Open says where a tail leads. Each text of the right form leads somewhere: only
// a list can say whether there is anything ([List.Find]). Whole ids are taken,
// too; their last part counts.
func (s AddressCipher) Open(id string) (AddressKey, bool) {
	tail := id[strings.LastIndexByte(id, '-')+1:]
	tail = tail[strings.LastIndexByte(tail, '_')+1:]
	if len(s.key) == 0 || len(tail) != TailLength {
		return AddressKey{}, false
	}
	raw, err := tails.DecodeString(tail)
	if err != nil || tails.EncodeToString(raw) != tail {
		return AddressKey{}, false
	}
	b := [32]byte(raw)
	s.mask(&b)
	return AddressKey{name: [8]byte(b[16:24]), start: natsx.InstanceID(b[24:])}, true
}

var tails = base32.StdEncoding.WithPadding(base32.NoPadding)

// mask hides the second half of a tail by the first, or uncovers it.
func (s AddressCipher) mask(b *[32]byte) {
	for i, m := range s.mac("tipstaff mask of a place\n", b[:16])[:16] {
		b[16+i] ^= m
	}
}

// mac is HMAC-SHA256 for one purpose.
func (s AddressCipher) mac(purpose string, data []byte) []byte {
	if len(s.key) == 0 {
		panic("fleet: an address is hidden without a key")
	}
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(purpose))
	h.Write(data)
	return h.Sum(nil)
}
