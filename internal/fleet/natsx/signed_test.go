package natsx_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

// open is a field in which NATS delivers what the thief of r1's key has it deliver: members
// have one account. What keeps them from harm there is what is signed.
func open(t *testing.T, permissions bool) (*field, map[string]string) {
	t.Helper()
	c, keys := members(t)
	f := newField(t, oneAccount(t, c, permissions), keys)
	f.control = true
	return f, keys
}

// forges has JetStream send data to a subject, and returns when it is stored there.
func (f *field) forges(subject string, data []byte) {
	f.t.Helper()
	r := f.keeps("r1", data)
	if err := f.stolen.PublishRequest(r.subject, subject, []byte(r.body)); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.stolen.Request(r.subject, []byte(r.body), 20*time.Second); err != nil {
		f.t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func (f *field) eventually(what string, is func() bool) {
	f.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%s: never", what)
		}
	}
}

func (f *field) runners() []natsx.Address {
	f.t.Helper()
	all, err := f.operator.Peers(within(f.t))
	if err != nil {
		f.t.Fatal(err)
	}
	var out []natsx.Address
	for _, p := range all {
		if p.Role == natsx.Runner {
			out = append(out, p.Address)
		}
	}
	return out
}

func TestALeaseThatItsRunnerHasNotSignedIsNone(t *testing.T) {
	t.Parallel()
	f, _ := open(t, true)
	f.lease(f.runner, "r", f.r)
	told := make(chan natsx.LeaseChange, 16)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.gateway.WatchLeases(ctx, f.g, func(c natsx.LeaseChange) { told <- c }) }()
	if c := <-told; c.Member != f.r {
		t.Fatalf("%+v", c)
	}
	ghost := member("r2")
	before := f.gateway.Foreign()
	f.forges("$KV.tip1_runners.r."+ghost.String(), []byte(`{"capacity":1000000}`))
	f.forges("$KV.tip1_runners.r."+f.r.String(), []byte(`{"capacity":1000000}`))
	f.eventually("both are passed over", func() bool { return f.gateway.Foreign() >= before+2 })
	if got := f.runners(); len(got) != 0 { // the honest one was written over, until it is renewed
		t.Errorf("an operator sees %v", got)
	}
	f.lease(f.runner, "r", f.r)
	if c := <-told; c.Member != f.r || string(c.Value) != "honest" {
		t.Errorf("what was not signed is told: %+v", c)
	}
	if got := f.runners(); !slices.Equal(got, []natsx.Address{f.r}) {
		t.Errorf("an operator sees %v", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}

	// A thief who signs with the stolen key, in the other's name, where nothing else is in
	// the way.
	var keys map[string]string
	f, keys = open(t, false)
	thief := f.server.ConnectWith(natsx.Options{Role: natsx.Runner, Name: "r2", Credentials: keys["r1"]})
	if _, err := thief.PutLease(within(t), ghost, []byte("forged")); err != nil {
		t.Fatal(err)
	}
	f.lease(f.runner, "r", f.r) // the control
	if got := f.runners(); !slices.Equal(got, []natsx.Address{f.r}) {
		t.Errorf("signed with another's key, an operator sees %v", got)
	}
	before = f.gateway.Foreign()
	if err := thief.Publish(f.g.Answers(f.r, f.token), "", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	f.eventually("the answer is passed over", func() bool { return f.gateway.Foreign() > before })
	if f.heard("gateway", "forged") {
		t.Error("an answer in another's name counts")
	}
}

// TestACallWhoseClaimIsForgedIsNotSent: that it would run twice was what a forged claim did.
func TestACallWhoseClaimIsForgedIsNotSent(t *testing.T) {
	t.Parallel()
	f, _ := open(t, true)
	claim := func(key string) (natsx.Address, error) {
		return f.gateway.Claim(within(f.t), key, f.r)
	}
	if a, err := claim("honest"); err != nil || a != f.r {
		t.Fatalf("the control: %v, %v", a, err)
	}
	for _, key := range []string{"honest", "early"} {
		f.forges("$KV.tip1_claims."+key, []byte(f.a.String()))
	}
	f.eventually("the early one is there", func() bool { _, err := claim("early"); return errors.Is(err, natsx.ErrForeign) })
	if a, err := claim("honest"); err != nil || a != f.r {
		t.Errorf("a claim was written over: %v, %v", a, err)
	}
	if _, err := claim("early"); !errors.Is(err, natsx.ErrForeign) {
		t.Errorf("a call is sent by a claim that no gateway has signed: %v", err)
	}
}

// TestACopyGoesOnBehindWhatIsForged: a forged message at its end stopped the copy for good.
func TestACopyGoesOnBehindWhatIsForged(t *testing.T) {
	t.Parallel()
	f, _ := open(t, true)
	const subject = "tip1.a.3.r2.trail"
	add := func(after uint64, text string) (uint64, error) {
		return f.runner.AppendCopy(within(t), natsx.Copy{Stream: 3, Subject: subject, ID: text, After: after, Header: text, Data: []byte(text)})
	}
	first, err := add(0, "one")
	if err != nil {
		t.Fatal(err)
	}
	f.forges(subject, []byte("forged"))
	var last natsx.StoredCopy
	f.eventually("the forged one is the last", func() bool {
		last, err = f.runner.LastCopy(within(t), 3, subject)
		return err != nil || last.Sequence > first
	})
	if err != nil || !last.Foreign || last.Header != "" || last.Data != nil {
		t.Fatalf("the last one: %+v, %v", last, err)
	}
	if _, err := add(first, "behind the honest one"); !errors.Is(err, natsx.ErrMoved) {
		t.Errorf("%v", err)
	}
	if _, err := add(last.Sequence, "two"); err != nil {
		t.Errorf("it does not go on: %v", err)
	}
	var read []string
	if _, err := f.auditor.ListCopies(within(t), 3, subject, 0, func(m natsx.StoredCopy) error {
		if m.Foreign {
			read = append(read, "passed over")
		} else {
			read = append(read, string(m.Data))
		}
		return nil
	}); err != nil || !slices.Equal(read, []string{"one", "passed over", "two"}) {
		t.Errorf("an auditor reads %q, %v", read, err)
	}
	if f.auditor.Foreign() == 0 {
		t.Error("nothing was counted")
	}
}

// TestWhatAKeyWritesInItsOwnPlaceHurtsNobodyElse: the server keeps the headers of a message,
// and obeys some of them.
func TestWhatAKeyWritesInItsOwnPlaceHurtsNobodyElse(t *testing.T) {
	t.Parallel()
	text, keys := configuration(t)
	f := newField(t, text, keys)
	own := "$KV.tip1_runners.r." + f.a.String()
	writes := func(subject string, h nats.Header, data string) {
		t.Helper()
		_, _ = f.stolen.RequestMsg(&nats.Msg{Subject: subject, Header: h, Data: []byte(data)}, 20*time.Second) // refused or not
	}
	only := func(what string) {
		t.Helper()
		if got := f.runners(); !slices.Equal(got, []natsx.Address{f.r}) {
			t.Errorf("%s: an operator sees %v", what, got)
		}
	}
	f.lease(f.runner, "r", f.r)
	for _, h := range []string{"all", "sub"} {
		writes(own, nats.Header{"Nats-Rollup": {h}}, "x")
		only("a roll-up " + h)
	}
	writes(own, nats.Header{"Status": {"404"}, "Nats-Sequence": {"1"}, "Nats-Subject": {"$KV.tip1_runners.r." + member("r2").String()}}, "x")
	f.lease(f.runner, "r", f.r) // behind it
	only("a lease that says that it is the end of the list")

	const trail = "tip1.a.0.r2.trail"
	writes("tip1.a.0.r1.trail", nats.Header{"Nats-Subject": {trail}, "Nats-Msg-Id": {"r2:trail:1"}, "Nats-Last-Sequence": {"7"}}, "forged")
	if _, err := f.runner.AppendCopy(within(t), natsx.Copy{Stream: 0, Subject: trail, ID: "r2:trail:1", Data: []byte("honest")}); err != nil {
		t.Errorf("another's id keeps a batch out: %v", err)
	}
	if _, err := f.auditor.ListCopies(within(t), 0, natsx.CopySubjects(0, ""), 0, func(m natsx.StoredCopy) error {
		if (m.Subject == trail) != (string(m.Data) == "honest") || (m.Subject == trail) == m.Foreign {
			t.Errorf("an auditor reads %+v", m)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestAClaimIsWrittenOnce also by the keys of gateways: one that is written over lets a call
// run again. The control is a bucket of the library's.
func TestAClaimIsWrittenOnce(t *testing.T) {
	t.Parallel()
	text, keys := configuration(t)
	f := newFieldOf(t, text, keys, "g2")
	if _, err := f.gateway.Claim(within(t), "k", f.r); err != nil {
		t.Fatal(err)
	}
	c, keys := members(t)
	control := newFieldOf(t, oneAccount(t, c, false), keys, "g2")
	js, err := jetstream.New(control.stolen)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.CreateKeyValue(within(t), jetstream.KeyValueConfig{Bucket: "control", History: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []nats.Header{{}, {"KV-Operation": {"DEL"}}, {"KV-Operation": {"PURGE"}, "Nats-Rollup": {"sub"}}, {"Nats-Rollup": {"all"}}, {"Nats-TTL": {"1s"}}} {
		if f.writes("$KV.tip1_claims.k", h) {
			t.Errorf("%v: a claim is written over", h)
		}
		if a, err := f.gateway.Claim(within(t), "k", member("r1")); err != nil || a != f.r {
			t.Errorf("%v: the claim is %v, %v", h, a, err)
		}
		if _, err := kv.Put(within(t), "k", []byte("honest")); err != nil {
			t.Fatal(err)
		}
		if h.Get("Nats-TTL") == "" && !control.writes("$KV.control.k", h) {
			t.Errorf("the control: %v is refused", h)
		}
	}
}

// writes has the attacker write, and says whether the server took it.
func (f *field) writes(subject string, h nats.Header) bool {
	f.t.Helper()
	m, err := f.stolen.RequestMsg(&nats.Msg{Subject: subject, Header: h, Data: []byte("forged")}, 20*time.Second)
	if err != nil {
		f.t.Fatal(err)
	}
	return !bytes.Contains(m.Data, []byte(`"error"`))
}

// TestABucketThatLetsClaimsBeWrittenOverIsNotTaken: an earlier release has made it, or
// somebody who came first.
func TestABucketThatLetsClaimsBeWrittenOverIsNotTaken(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	g := s.Connect(natsx.Gateway, "g1")
	nc, err := nats.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateKeyValue(within(t), jetstream.KeyValueConfig{Bucket: "tip1_claims"}); err != nil {
		t.Fatal(err)
	}
	if err := g.MakeStreams(within(t), 0); err == nil || !strings.Contains(err.Error(), "bucket of claims") || !strings.Contains(err.Error(), "nats stream rm KV_tip1_claims") || strings.Contains(err.Error(), "leases") {
		t.Errorf("%v", err)
	}
	if err := js.DeleteStream(within(t), "KV_tip1_claims"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.MakeStreams(within(t), 0), g.MakeStreams(within(t), 0)); err != nil {
		t.Errorf("the control: %v", err)
	}
}
