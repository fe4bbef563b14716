package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/policy/freeze"
)

// Word is what an operator has said last of one target: that it is frozen, or that
// its freeze is lifted. A freeze that is lifted stays there as a word of its own:
// that something is not there lifts nothing.
type Word struct {
	freeze.Entry // By, UID and At are of the person who said it

	Lifted bool
}

// Person is who said it.
func (w Word) Person() tipstaff.Person {
	return tipstaff.Person{Name: w.By, UID: w.UID, Operator: w.Operator}
}

// frozenBody is what is signed of a word beside who said it, and when.
type frozenBody struct {
	freeze.Target

	Why    string `json:"why,omitempty"`
	Lifted bool   `json:"lifted,omitempty"`
}

// longestPerson bounds the name of a person, in bytes.
const longestPerson = 256

// FrozenKey is the key of a target in the bucket.
func FrozenKey(t freeze.Target) string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // texts alone
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Sign signs a word. Operator is the signer's.
func (w Word) Sign(s *natsx.Signer) ([]byte, error) {
	body, err := json.Marshal(frozenBody{w.Target, w.Why, w.Lifted})
	if err != nil {
		return nil, fmt.Errorf("cannot write a freeze: %w", err)
	}
	return s.SignLasting(natsx.Lasting{Person: natsx.Person{Name: w.By, UID: w.UID}, At: w.At, Body: body})
}

// ReadWord reads what one of these operators has signed.
func ReadWord(o natsx.Operators, data []byte) (Word, error) {
	l, err := o.Lasting(data)
	if err != nil {
		return Word{}, err
	}
	return wordOf(l)
}

// PeekWord reads a word without a look at who has signed it.
func PeekWord(data []byte) (Word, error) {
	l, err := natsx.PeekLasting(data)
	if err != nil {
		return Word{}, err
	}
	return wordOf(l)
}

func wordOf(l natsx.Lasting) (Word, error) {
	var b frozenBody
	if err := json.Unmarshal(l.Body, &b); err != nil {
		return Word{}, fmt.Errorf("what is signed is no freeze: %w", err)
	}
	w := Word{Lifted: b.Lifted}
	if len(b.Why) > freeze.LongestWhy || len(l.Person.Name) > longestPerson {
		return Word{}, errors.New("a freeze with a reason or a name that is too long")
	}
	w.Entry = freeze.Entry{Target: b.Target, Why: b.Why, By: cmdline.Escape(l.Person.Name), UID: l.Person.UID, Operator: l.Operator, At: l.At.Truncate(time.Millisecond)}
	if err := w.Check(); err != nil {
		return Word{}, err
	}
	if w.At.IsZero() {
		return Word{}, errors.New("a freeze without its time")
	}
	return w, nil
}
