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
	"tipstaff/internal/strictjson"
)

// FreezeOrder is what an operator has said last of one target: that it is frozen, or that
// its freeze is lifted. A lifted freeze stays in the bucket as an order of its own: a
// missing order lifts nothing.
type FreezeOrder struct {
	freeze.Entry // By, UID and At are of the person who said it

	Lifted bool
}

// Person returns who gave the order.
func (w FreezeOrder) Person() tipstaff.Person {
	return tipstaff.Person{Name: w.By, UID: w.UID, Operator: w.Operator}
}

// frozenBody is the part of an order that is signed beside its person and time.
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

// Sign signs an order. Operator is the signer's.
func (w FreezeOrder) Sign(s *natsx.Signer) ([]byte, error) {
	body, err := json.Marshal(frozenBody{w.Target, w.Why, w.Lifted})
	if err != nil {
		return nil, fmt.Errorf("cannot write a freeze: %w", err)
	}
	return s.SignLasting(natsx.Lasting{Person: natsx.Person{Name: w.By, UID: w.UID}, At: w.At, Body: body})
}

// ReadFreezeOrder reads an order that one of these operators has signed.
func ReadFreezeOrder(o natsx.Operators, data []byte) (FreezeOrder, error) {
	l, err := o.Lasting(data)
	if err != nil {
		return FreezeOrder{}, err
	}
	return freezeOrderOf(l)
}

// PeekFreezeOrder reads an order without checking its signature.
func PeekFreezeOrder(data []byte) (FreezeOrder, error) {
	l, err := natsx.PeekLasting(data)
	if err != nil {
		return FreezeOrder{}, err
	}
	return freezeOrderOf(l)
}

func freezeOrderOf(l natsx.Lasting) (FreezeOrder, error) {
	var b frozenBody
	if err := strictjson.Unmarshal(l.Body, &b); err != nil {
		return FreezeOrder{}, fmt.Errorf("what is signed is no freeze: %w", err)
	}
	w := FreezeOrder{Lifted: b.Lifted}
	if len(b.Why) > freeze.LongestWhy || len(l.Person.Name) > longestPerson {
		return FreezeOrder{}, errors.New("a freeze with a reason or a name that is too long")
	}
	w.Entry = freeze.Entry{Target: b.Target, Why: b.Why, By: cmdline.Escape(l.Person.Name), UID: l.Person.UID, Operator: l.Operator, At: l.At.Truncate(time.Millisecond)}
	if err := w.Check(); err != nil {
		return FreezeOrder{}, err
	}
	if w.At.IsZero() {
		return FreezeOrder{}, errors.New("a freeze without its time")
	}
	return w, nil
}
