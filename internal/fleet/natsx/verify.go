package natsx

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// Reason is why a statement does not count: one word for metrics and records.
type Reason string

const (
	Unsigned       Reason = "unsigned"        // there is no statement, or what is there is none
	OtherVersion   Reason = "other_version"   // the gateway speaks another version
	UnknownSigner  Reason = "unknown_signer"  // its key is not among the gateways, or not with this name
	BadSignature   Reason = "bad_signature"   // the key did not sign these bytes
	OtherRecipient Reason = "other_recipient" // it is for another runner, or an earlier start of this one
	TooOld         Reason = "too_old"         // its time is over
	FromFuture     Reason = "from_future"     // it is issued later than now
	OtherMessage   Reason = "digest_differs"  // the message is not the one that it is about
	Replayed       Reason = "replayed"        // it has counted before
	TooMany        Reason = "too_many"        // more statements came in their time than are remembered
)

// Reasons are all of them, for metrics.
func Reasons() []Reason {
	return []Reason{Unsigned, OtherVersion, UnknownSigner, BadSignature, OtherRecipient, TooOld, FromFuture, OtherMessage, Replayed, TooMany}
}

// Refusal is the error of [Verifier.Verify].
type Refusal struct {
	Reason Reason
	Say    string // for the operator: what was found, and what to do
}

func (r *Refusal) Error() string { return r.Say }

func refuse(r Reason, format string, args ...any) error {
	return &Refusal{Reason: r, Say: fmt.Sprintf(format, args...)}
}

// Remembered is how many statements a verifier remembers at most while they
// could count again, twice over. Each takes some 50 bytes.
const Remembered = 1 << 16

// remember is how long: a statement that counted now cannot count after this.
const remember = Validity + 2*ClockSkew

// Verifier judges statements for one runner. Its methods may run at once.
type Verifier struct {
	self   Address
	now    func() time.Time
	counts *memory

	mu       sync.Mutex
	gateways Gateways
}

// NewVerifier makes the verifier of the runner self.
func NewVerifier(self Address, gateways Gateways, now func() time.Time) *Verifier {
	return &Verifier{self: self, gateways: gateways, now: now, counts: newMemory(now)}
}

// SetGateways replaces the gateways whose statements count.
func (v *Verifier) SetGateways(g Gateways) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gateways = g
}

// Verify returns the statement that travelled with message, if it counts; else a
// *[Refusal]. It counts once.
func (v *Verifier) Verify(statement, message []byte) (Statement, error) {
	st, err := v.read(statement)
	if err != nil {
		return Statement{}, err
	}
	if st.Runner != v.self.String() {
		return Statement{}, refuse(OtherRecipient, "a statement for %s came to %s", st.Runner, v.self)
	}
	digest := sha256.Sum256(message)
	if st.Digest != hex.EncodeToString(digest[:]) {
		return Statement{}, refuse(OtherMessage, "the message is not the one that the statement of %s is about", st.Gateway)
	}
	if err := inTime(v.now(), st.Gateway, st.Issued, st.NotAfter); err != nil {
		return Statement{}, err
	}
	return st, v.counts.once(st.Key+st.Nonce, st.Gateway, st.Issued)
}

// read takes statement apart and checks who has signed it.
func (v *Verifier) read(statement []byte) (Statement, error) {
	var st Statement
	sig, body, ok := open(statement, &st)
	if !ok {
		return Statement{}, refuse(Unsigned, "a message without a statement of a gateway")
	}
	if st.Version != StatementVersion {
		return Statement{}, refuse(OtherVersion, "a statement of version %d, and this runner takes version %d: run the same release on gateways and runners", st.Version, StatementVersion)
	}
	gateway, err := ParseAddress(st.Gateway)
	if err != nil {
		return Statement{}, refuse(Unsigned, "a statement of no gateway: %v", err)
	}
	v.mu.Lock()
	name, known := v.gateways[st.Key]
	v.mu.Unlock()
	switch {
	case !known:
		return Statement{}, refuse(UnknownSigner, "a statement by the key %.60q, which is not among the keys of gateways (TIPSTAFF_ENGINE_GATEWAYS)", st.Key)
	case name != gateway.Name:
		return Statement{}, refuse(UnknownSigner, "a statement of %s by the key of %s", gateway.Name, name)
	case !isSigned(st.Key, signed, body, sig):
		return Statement{}, refuse(BadSignature, "a statement that the key of %s did not sign", name)
	}
	return st, nil
}
