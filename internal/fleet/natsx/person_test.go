package natsx_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// desk is an operator and a runner that knows its key, with a clock each.
type desk struct {
	operator natsx.Address
	runner   natsx.Peer
	public   string
	signer   *natsx.Signer
	verifier *natsx.PersonVerifier
	there    time.Time
	here     time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	start := time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)
	d := &desk{operator: member("ops"), runner: natsx.Peer{Role: natsx.Runner, Address: member("r1")}, there: start, here: start}
	var file string
	file, d.public = seedFile(t)
	var err error
	if d.signer, err = natsx.NewSigner(file, d.operator, func() time.Time { return d.there }); err != nil {
		t.Fatal(err)
	}
	d.knows(natsx.Operators{d.public: "ops"})
	return d
}

func (d *desk) knows(o natsx.Operators) {
	d.verifier = natsx.NewPersonVerifier(d.runner, o, func() time.Time { return d.here })
}

func (d *desk) sign(t *testing.T) []byte {
	t.Helper()
	b, err := d.signer.SignPerson(natsx.PersonStatement{Peer: d.runner.String(), Person: natsx.Person{Name: "ann", UID: 7}}, []byte("stop"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAPersonsStatementCountsOnceForOneRecipient(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.sign(t)
	st, from, err := d.verifier.Verify(s, []byte("stop"))
	if err != nil || from != d.operator || st.Person.Name != "ann" || st.Person.UID != 7 {
		t.Fatalf("%+v %v %v", st, from, err)
	}
	if _, _, err := d.verifier.Verify(s, []byte("stop")); !isReason(err, natsx.Replayed) {
		t.Errorf("a second time: %v", err)
	}
}

func isReason(err error, want natsx.Reason) bool {
	var r *natsx.Refusal
	return errors.As(err, &r) && r.Reason == want
}

func TestWhatNoOperatorSignedForThisOneDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, d *desk, s []byte) []byte
		want   natsx.Reason
	}{
		"nothing":              {func(*testing.T, *desk, []byte) []byte { return nil }, natsx.Unsigned},
		"text":                 {func(*testing.T, *desk, []byte) []byte { return []byte(strings.Repeat("x", 100)) }, natsx.Unsigned},
		"no operator is known": {func(_ *testing.T, d *desk, s []byte) []byte { d.knows(nil); return s }, natsx.UnknownSigner},
		"the key is another's": {func(_ *testing.T, d *desk, s []byte) []byte { d.knows(natsx.Operators{d.public: "x"}); return s }, natsx.UnknownSigner},
		"a changed byte":       {func(_ *testing.T, _ *desk, s []byte) []byte { s[70] ^= 1; return s }, ""},
		"a changed signature":  {func(_ *testing.T, _ *desk, s []byte) []byte { s[0] ^= 1; return s }, natsx.BadSignature},
		"it is for another start": {func(_ *testing.T, d *desk, s []byte) []byte {
			d.runner.InstanceID[0]++
			d.knows(natsx.Operators{d.public: "ops"})
			return s
		}, natsx.OtherRecipient},
		"it is for the gateway there": {func(_ *testing.T, d *desk, s []byte) []byte {
			d.runner.Role = natsx.Gateway
			d.knows(natsx.Operators{d.public: "ops"})
			return s
		}, natsx.OtherRecipient},
		"it is old":             {func(_ *testing.T, d *desk, s []byte) []byte { d.here = d.here.Add(time.Minute); return s }, natsx.TooOld},
		"it is from the future": {func(_ *testing.T, d *desk, s []byte) []byte { d.here = d.here.Add(-time.Minute); return s }, natsx.FromFuture},
		"a gateway's statement of the same key": {func(t *testing.T, d *desk, _ []byte) []byte {
			s, err := d.signer.Sign(natsx.Statement{Runner: d.runner.Address.String(), Verb: "call"}, []byte("stop"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, ""},
		"what it has signed to last": {func(t *testing.T, d *desk, _ []byte) []byte {
			s, err := d.signer.SignLasting(natsx.Lasting{At: d.there, Body: json.RawMessage("{}")})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, ""},
	} {
		d := newDesk(t)
		s := c.change(t, d, d.sign(t))
		if _, _, err := d.verifier.Verify(s, []byte("stop")); err == nil || c.want != "" && !isReason(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := newDesk(t)
	if _, _, err := d.verifier.Verify(d.sign(t), []byte("kill")); !isReason(err, natsx.OtherMessage) {
		t.Errorf("another message: %v", err)
	}
}

func TestALastingStatementIsAnOperators(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s, err := d.signer.SignLasting(natsx.Lasting{Person: natsx.Person{Name: "ann", UID: 7}, At: d.there, Body: json.RawMessage(`{"agent":"a"}`)})
	if err != nil {
		t.Fatal(err)
	}
	o := natsx.Operators{d.public: "ops"}
	if l, err := o.Lasting(s); err != nil || l.Operator != "ops" || l.Person.UID != 7 || !l.At.Equal(d.there) || string(l.Body) != `{"agent":"a"}` {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := (natsx.Operators{d.public: "x"}).Lasting(s); !isReason(err, natsx.UnknownSigner) {
		t.Errorf("under another name: %v", err)
	}
	if _, err := natsx.Operators(nil).Lasting(s); !isReason(err, natsx.UnknownSigner) || !strings.Contains(err.Error(), "TIPSTAFF_ENGINE_OPERATORS") {
		t.Errorf("where no operator is known: %v", err)
	}
	if _, err := o.Lasting(d.sign(t)); err == nil {
		t.Error("a statement about a message lasts")
	}
	s[80] ^= 1
	if _, err := o.Lasting(s); err == nil {
		t.Error("changed, it counts")
	}
}

func TestTheFileOfOperatorsIsReadAsThatOfGateways(t *testing.T) {
	t.Parallel()
	_, public := seedFile(t)
	file := filepath.Join(t.TempDir(), "operators")
	if err := os.WriteFile(file, []byte("# us\n"+public+" ops\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o, err := natsx.ReadOperators(file); err != nil || o[public] != "ops" {
		t.Errorf("%v, %v", o, err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := natsx.ReadOperators(file); err == nil || !strings.Contains(err.Error(), "names no operator") {
		t.Error(err)
	}
}

func TestTheSubjectsOfPeersAreReadBack(t *testing.T) {
	t.Parallel()
	o := member("ops")
	for _, role := range []natsx.Role{natsx.Gateway, natsx.Runner} {
		p := natsx.Peer{Role: role, Address: member("m1")}
		if back, err := natsx.ParsePeer(p.String()); err != nil || back != p {
			t.Errorf("%v, %v", back, err)
		}
		if from, token, err := natsx.ParseTold(p.Tells(o, "tok")); err != nil || from != p || token != "tok" {
			t.Errorf("%v %s, %v", from, token, err)
		}
	}
	for _, s := range []string{"", "x.m1.0011223344556677", "r.m1", "r.M1.0011223344556677", "o.m1.0011223344556677"} {
		if p, err := natsx.ParsePeer(s); err == nil {
			t.Errorf("%q is %v", s, p)
		}
	}
	if _, _, err := natsx.ParseTold("tip1.q.a.b.r.c.d"); err == nil {
		t.Error("a subject that is too short")
	}
}
