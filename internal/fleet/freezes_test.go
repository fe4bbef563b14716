package fleet_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
	"tipstaff/internal/policy/freeze"
)

// people are operators who write who is frozen, and a runner that reads it.
type people struct {
	t       *testing.T
	conn    *natsx.Conn // of an operator
	signer  *natsx.Signer
	runner  *natsx.Conn
	freezes *fleet.Freezes
	said    []string // what was recorded
	ended   []string
	broken  error // the record cannot be written
	begin   time.Time
}

func operatorsKey(t *testing.T, name string) (*natsx.Signer, string) {
	t.Helper()
	seed, public, err := natsx.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(seed), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := natsx.NewSigner(file, natsx.Address{Name: name}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s, public
}

func newPeople(t *testing.T) *people {
	t.Helper()
	s := enginetest.Start(t)
	p := &people{t: t, conn: s.Connect(natsx.Operator, "ops"), runner: s.Connect(natsx.Runner, "r1"), begin: time.Now()}
	if err := s.Connect(natsx.Gateway, "g1").MakeStreams(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var public string
	p.signer, public = operatorsKey(t, "ops")
	p.freezes = fleet.NewFreezes(fleet.FreezesOptions{
		Conn: p.runner, Operators: natsx.Operators{public: "ops"}, Log: slog.New(slog.DiscardHandler),
		Record: func(w fleet.FreezeOrder) error { p.said = append(p.said, textOf(w)); return p.broken },
		Ended:  func(w fleet.FreezeOrder) { p.ended = append(p.ended, w.Target.String()) },
	})
	return p
}

func textOf(w fleet.FreezeOrder) string {
	text := w.Target.String() + " " + w.Why + " by " + w.Person().String()
	if w.Lifted {
		return "lifted " + text
	}
	return text
}

// word writes one into the bucket, so many seconds after the beginning, under a key of
// another target if there is one.
func (p *people) word(signer *natsx.Signer, agent, why string, lifted bool, at int, under ...string) []byte {
	p.t.Helper()
	w := fleet.FreezeOrder{Lifted: lifted}
	w.Entry = freeze.Entry{Target: freeze.Target{Agent: agent}, Why: why, By: "ann", UID: 7, At: p.begin.Add(time.Duration(at) * time.Second)}
	data, err := w.Sign(signer)
	if err != nil {
		p.t.Fatal(err)
	}
	key := fleet.FrozenKey(w.Target)
	if len(under) > 0 {
		key = fleet.FrozenKey(freeze.Target{Agent: under[0]})
	}
	all, err := p.conn.Frozen(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	after := uint64(0)
	for _, k := range all {
		if k.Key == key {
			after = k.Sequence
		}
	}
	if err := p.conn.PutFrozen(p.t.Context(), key, after, data); err != nil {
		p.t.Fatal(err)
	}
	return data
}

// are compares who is frozen, after a reading.
func (p *people) are(want string) {
	p.t.Helper()
	if err := p.freezes.Read(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	all, err := p.freezes.Entries()
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Agent)
	}
	if got := strings.Join(names, " "); got != want {
		p.t.Errorf("frozen are %q, not %q", got, want)
	}
}

func TestAMemberObeysWhatOperatorsHaveSigned(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	p.word(p.signer, "old", "", false, -100)
	if _, err := p.freezes.Entries(); err == nil {
		t.Fatal("it can be told before it was read")
	}
	p.are("old")
	if len(p.said)+len(p.ended) > 0 {
		t.Errorf("what was so before it began is recorded: %q %q", p.said, p.ended)
	}
	p.word(p.signer, "new", "It deletes.", false, 10)
	p.are("old new")
	if strings.Join(p.said, ";") != "agent new It deletes. by ann of the operator ops" || strings.Join(p.ended, ";") != "agent new" {
		t.Errorf("recorded: %q, ended: %q", p.said, p.ended)
	}

	// Neither a stranger's word nor one in another's place counts.
	stranger, _ := operatorsKey(t, "ops")
	p.word(stranger, "x", "", false, 20)
	p.word(stranger, "new", "", true, 30)
	p.word(p.signer, "y", "", false, 20, "z")
	p.are("old new")

	// An earlier word changes nothing, and a lift needs its record.
	p.word(p.signer, "new", "", true, 5)
	p.are("old new")
	p.broken = errors.New("the disk is full")
	p.word(p.signer, "new", "", true, 40)
	p.are("old new")
	p.broken = nil
	p.are("old")
	if last := p.said[len(p.said)-1]; last != "lifted agent new It deletes. by ann of the operator ops" {
		t.Errorf("recorded: %q", p.said)
	}
	p.broken = errors.New("the disk is full") // which keeps no person from freezing
	p.word(p.signer, "new", "again", false, 50)
	p.are("old new")
}

func TestAMemberThatIsToldNeedsNoReading(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	p.are("")
	data := p.word(p.signer, "a", "", false, 1)
	if w, news, err := p.freezes.Take(data); err != nil || !news || w.Agent != "a" {
		t.Errorf("%+v %t %v", w, news, err)
	}
	if _, news, err := p.freezes.Take(data); err != nil || news {
		t.Errorf("a second time: %t %v", news, err)
	}
	p.are("a")
	if len(p.said) != 1 || len(p.ended) != 0 {
		t.Errorf("recorded %q, ended %q: who was told has ended it", p.said, p.ended)
	}
	stranger, _ := operatorsKey(t, "ops")
	if _, _, err := p.freezes.Take(p.word(stranger, "b", "", false, 2)); err == nil {
		t.Error("a stranger's word counts")
	}
	var none *fleet.Freezes
	if all, err := none.Entries(); err != nil || all != nil {
		t.Error(all, err)
	}
	if _, _, err := none.Take(data); err == nil {
		t.Error("who knows no operator takes a word")
	}
}

func TestAnEntryThatIsGoneLiftsNothing(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	p.word(p.signer, "a", "", false, -1)
	p.are("a")
	fresh := enginetest.Start(t) // with an empty bucket, as after a disaster
	if err := fresh.Connect(natsx.Gateway, "g1").MakeStreams(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	p.freezes.Conn(fresh.Connect(natsx.Runner, "r1"))
	p.are("a")
}

func TestThoseWhoArePresentAreNamed(t *testing.T) {
	t.Parallel()
	inc := func(b byte) natsx.InstanceID { return natsx.InstanceID{b} }
	lease := func(role natsx.Role, name string, i byte, seq uint64, value string) natsx.PeerLease {
		return natsx.PeerLease{Peer: natsx.Peer{Role: role, Address: natsx.Address{Name: name, InstanceID: inc(i)}}, Sequence: seq, Value: []byte(value)}
	}
	got := fleet.LivePeers([]natsx.PeerLease{
		lease(natsx.Runner, "r2", 1, 5, `{}`),         // was killed
		lease(natsx.Runner, "r1", 1, 6, `{"born":2}`), // has renewed
		lease(natsx.Gateway, "g", 1, 7, `{}`),         // two gateways of one name
		lease(natsx.Gateway, "g", 2, 8, `{}`),
		lease(natsx.Runner, "r2", 2, 12, `{"born":9}`),   // started again
		lease(natsx.Runner, "odd", 1, 13, `not a lease`), // may be asked all the same
	})
	var names []string
	for _, p := range got {
		names = append(names, p.Called()+p.InstanceID.String()[:2])
	}
	if text := strings.Join(names, ", "); text != "gateway g01, gateway g02, runner odd01, runner r101, runner r202" {
		t.Error(text)
	}
}
