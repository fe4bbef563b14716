package fleet

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"tipstaff/internal/fleet/natsx"
)

// Seal is the secret of all gateways and runners of one fleet that hides in ids
// where they are. The zero Seal seals nothing.
type Seal struct{ key []byte }

// ReadSeal reads a seal from a file with 32 bytes, raw or as 64 hexadecimal digits.
func ReadSeal(file string) (Seal, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Seal{}, fmt.Errorf("cannot read the seal of ids: %w", err)
	}
	if digits := strings.TrimSpace(string(text)); len(digits) == 64 {
		if key, err := hex.DecodeString(digits); err == nil {
			return NewSeal(key)
		}
	}
	seal, err := NewSeal(text)
	if err != nil {
		return Seal{}, fmt.Errorf("the file %s holds no seal of ids: %w; make one with: head -c 32 /dev/urandom > %s", file, err, file)
	}
	return seal, nil
}

// NewSeal makes a seal of 32 bytes.
func NewSeal(key []byte) (Seal, error) {
	if len(key) != 32 {
		return Seal{}, fmt.Errorf("a seal has 32 bytes, and these are %d", len(key))
	}
	return Seal{key: append([]byte{}, key...)}, nil
}

// Key is a key of 32 bytes that gateways and runners of one fleet have in common for a
// purpose.
func (s Seal) Key(purpose string) []byte { return s.mac("tipstaff key\n", []byte(purpose)) }

// TailLength is the number of characters of a sealed tail of an id.
const TailLength = 52

// Place is an address as ids hold it: which name, and which start of it. The name
// is a digest under the seal, so no caller can make the place of a name that they
// guess.
type Place struct {
	name  [8]byte
	start natsx.Incarnation
}

// Place is the place of an address.
func (s Seal) Place(a natsx.Address) Place {
	p := Place{start: a.Incarnation}
	copy(p.name[:], s.mac("tipstaff name of a runner\n", []byte(a.Name)))
	return p
}

// NewTail is the last part of a new id of what is kept at a: 16 random bytes, by
// which the id cannot be guessed, and 16 that hide the place. Two tails of one
// address have nothing in common. It has letters A to Z and digits 2 to 7.
func (s Seal) NewTail(a natsx.Address) string {
	var b [32]byte
	rand.Read(b[:16]) // crypto/rand.Read never fails
	p := s.Place(a)
	copy(b[16:24], p.name[:])
	copy(b[24:], p.start[:])
	s.mask(&b)
	return tails.EncodeToString(b[:])
}

// Open says where a tail leads. Each text of the right form leads somewhere: only
// a list can say whether there is anything ([List.Find]). Whole ids are taken,
// too; their last part counts.
func (s Seal) Open(id string) (Place, bool) {
	tail := id[strings.LastIndexByte(id, '-')+1:]
	tail = tail[strings.LastIndexByte(tail, '_')+1:]
	if len(s.key) == 0 || len(tail) != TailLength {
		return Place{}, false
	}
	raw, err := tails.DecodeString(tail)
	if err != nil || tails.EncodeToString(raw) != tail {
		return Place{}, false
	}
	b := [32]byte(raw)
	s.mask(&b)
	return Place{name: [8]byte(b[16:24]), start: natsx.Incarnation(b[24:])}, true
}

var tails = base32.StdEncoding.WithPadding(base32.NoPadding)

// mask hides the second half of a tail by the first, or uncovers it.
func (s Seal) mask(b *[32]byte) {
	for i, m := range s.mac("tipstaff mask of a place\n", b[:16])[:16] {
		b[16+i] ^= m
	}
}

// mac is HMAC-SHA256 for one purpose.
func (s Seal) mac(purpose string, data []byte) []byte {
	if len(s.key) == 0 {
		panic("fleet: a place is sealed without a seal")
	}
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(purpose))
	h.Write(data)
	return h.Sum(nil)
}
