package fleet_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// told is a list that is told of changes, in order, as the servers would tell it.
type told struct {
	t testing.TB
	*fleet.List
	seal     fleet.AddressCipher
	self     natsx.Address
	sequence uint64
}

func newTold(t testing.TB) *told {
	t.Helper()
	s, self := newSeal(t, 1), member("g1")
	return &told{t: t, List: fleet.NewList(nil, s, self, quiet()), seal: s, self: self}
}

func (l *told) change(role natsx.Role, a natsx.Address, value []byte) uint64 {
	l.sequence++
	l.Take(natsx.LeaseChange{Role: role, Member: a, Sequence: l.sequence, Time: time.Now(), Value: value})
	return l.sequence
}

// lease writes the lease of a, and returns its sequence.
func (l *told) lease(a natsx.Address, lease fleet.Lease) uint64 {
	l.t.Helper()
	if lease.Capacity == 0 {
		lease.Capacity = 10
	}
	lease.Clock = time.Now()
	b, err := json.Marshal(lease)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.change(natsx.Runner, a, b)
}

func (l *told) pulses(n int) {
	for range n {
		l.change(natsx.Gateway, l.self, []byte("{}"))
	}
}

func (l *told) standing(a natsx.Address) fleet.State {
	_, st := l.Find(l.seal.AddressKey(a))
	return st
}

func TestALeaseEndsByPulsesAndNotByAClock(t *testing.T) {
	t.Parallel()
	l, a, b := newTold(t), member("r1"), member("r2")
	l.lease(a, fleet.Lease{})
	l.lease(b, fleet.Lease{})
	for range 100 {
		l.lease(b, fleet.Lease{}) // much happens, but no pulse comes back
	}
	if got := l.standing(a); got != fleet.Held {
		t.Errorf("without pulses: %v", got)
	}
	l.pulses(fleet.PulsesOfALease)
	l.lease(b, fleet.Lease{})
	if got := l.standing(a); got != fleet.Held {
		t.Errorf("within its time: %v", got)
	}
	l.pulses(1)
	if a, b := l.standing(a), l.standing(b); a != fleet.Lost || b != fleet.Held {
		t.Errorf("after its time %v, renewed %v", a, b)
	}
	l.lease(a, fleet.Lease{})
	if got := l.standing(a); got != fleet.Held {
		t.Errorf("a runner that was stopped and goes on: %v", got)
	}
	l.change(natsx.Gateway, member("g2"), []byte("{}"))
	l.change(natsx.Gateway, natsx.Address{Name: "g1"}, []byte("{}"))
	if got := l.standing(a); got != fleet.Held {
		t.Errorf("pulses of others count: %v", got)
	}
}

func TestWhatIsToldAgainRenewsNothing(t *testing.T) {
	t.Parallel()
	l, a := newTold(t), member("r1")
	first := l.lease(a, fleet.Lease{Sessions: 1})
	l.lease(a, fleet.Lease{Sessions: 2})
	l.pulses(fleet.PulsesOfALease)
	b, err := json.Marshal(fleet.Lease{Capacity: 10, Sessions: 1, Clock: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	l.Take(natsx.LeaseChange{Role: natsx.Runner, Member: a, Sequence: first, Value: b}) // a stale read
	if got := l.Runners()[0].Sessions; got != 2 {
		t.Errorf("a stale read replaces what is newer: %d sessions", got)
	}
	l.Take(natsx.LeaseChange{Role: natsx.Runner, Member: a, Sequence: first}) // and a stale end
	if got := l.standing(a); got != fleet.Held {
		t.Errorf("a stale end counts: %v", got)
	}
	if l.pulses(1); l.standing(a) != fleet.Lost {
		t.Error("a stale read renews")
	}
}

func TestARestartedRunnersOldLeaseIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	l, old, other, young := newTold(t), member("r1"), member("r2"), member("r1")
	l.lease(old, fleet.Lease{})
	l.lease(other, fleet.Lease{})
	born := l.lease(young, fleet.Lease{})
	if got := []fleet.State{l.standing(old), l.standing(other), l.standing(young)}; got[0] != fleet.Lost || got[1] != fleet.Held || got[2] != fleet.Held {
		t.Errorf("old %v, other %v, young %v", got[0], got[1], got[2])
	}
	l.lease(old, fleet.Lease{Born: 1}) // it lives in spite of that
	l.lease(young, fleet.Lease{Born: born})
	if l.standing(old) != fleet.Held || l.standing(young) != fleet.Held {
		t.Error("two that live are both there")
	}
	l.change(natsx.Runner, young, nil)
	if l.standing(old) != fleet.Held || l.standing(young) != fleet.Lost {
		t.Error("a lease that is given back is gone at once")
	}
	if l.Holds(young) || !l.Holds(old) {
		t.Error("by address it is the same")
	}
}

func TestIdsCannotBeProbed(t *testing.T) {
	t.Parallel()
	l, a := newTold(t), member("r1")
	l.lease(a, fleet.Lease{})
	if got := l.standing(member("r9")); got != fleet.Unknown {
		t.Errorf("a runner that never was: %v", got)
	}
	if got := l.standing(member("r1")); got != fleet.Lost {
		t.Errorf("an earlier start of a runner that is there, of which this gateway knows nothing: %v", got)
	}
	for range 1000 { // whatever a caller makes of an id of their own, nothing is known of it
		tail := []byte(l.seal.NewTail(a))
		tail[26+len(tail)%7] ^= 1
		if p, ok := l.seal.Open(string(tail)); ok {
			if _, st := l.Find(p); st == fleet.Held {
				t.Fatalf("%s is held", tail)
			}
		}
		if p, ok := l.seal.Open(newSeal(t, 9).NewTail(a)); ok {
			if _, st := l.Find(p); st != fleet.Unknown {
				t.Fatalf("an id of another fleet: %v", st)
			}
		}
	}
}

func TestALeaseThatCannotBeIsLeftOut(t *testing.T) {
	t.Parallel()
	many := maps.Collect(func(yield func(fleet.Tenant, int) bool) {
		for i := range 300 {
			if !yield(fleet.Tenant{byte(i), byte(i >> 8)}, 1) {
				return
			}
		}
	})
	tenants, err := json.Marshal(fleet.Lease{Capacity: 1, Tenants: many})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"no JSON": "free", "a number below 0": `{"capacity":-1}`, "a word for a number": `{"capacity":"1"}`,
		"a tenant that is none": `{"capacity":1,"tenants":{"blue":1}}`, "too many tenants": string(tenants),
		"too large": `{"version":"` + string(make([]byte, 70<<10)) + `"}`,
	} {
		l, a := newTold(t), member("r1")
		l.change(natsx.Runner, a, []byte(value))
		if got := l.standing(a); got != fleet.Unknown {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAListRemembersABoundedNumberOfRunnersThatAreGone(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	const runners = fleet.Remembered + 50
	all := make([]natsx.Address, runners)
	for i := range all {
		all[i] = member(fmt.Sprintf("r%d", i))
		l.lease(all[i], fleet.Lease{})
		l.change(natsx.Runner, all[i], nil)
	}
	lost := 0
	for _, a := range all {
		if l.standing(a) == fleet.Lost {
			lost++
		}
	}
	if lost != fleet.Remembered {
		t.Errorf("%d of %d are remembered", lost, runners)
	}
	if l.standing(all[runners-1]) != fleet.Lost {
		t.Error("the last one is not")
	}
}

func TestALeaseListsTheTenantsWithTheMostSessions(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	l := watch(t, s)
	r := newRunner(t, s, fleet.RunnerOptions{Name: "r1", Capacity: 1000})
	for i := range 300 {
		for range 1 + i%2 { // every second one has two
			if _, err := r.Admit(fmt.Sprint("tenant", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep(t, r)
	until(t, l, "it is there", func() bool { return l.Holds(r.Address()) })
	listed := 0
	for i := range 300 {
		n := l.TenantSessions(fmt.Sprint("tenant", i))
		if n > 0 {
			listed++
		}
		if i%2 == 1 && n != 2 {
			t.Errorf("tenant%d has 2 sessions and is listed with %d", i, n)
		}
	}
	if lease := l.Runners()[0]; listed != 256 || lease.Sessions != 450 || lease.Load() != .45 {
		t.Errorf("%d tenants are listed, %+v", listed, lease.Sessions)
	}
}

func TestARunnerWhoseClockIsOffByAnHourIsNamedOnce(t *testing.T) {
	t.Parallel()
	var log testlog
	self := member("g1")
	l := &told{t: t, List: fleet.NewList(nil, newSeal(t, 1), self, slog.New(slog.NewTextHandler(&log, nil))), seal: newSeal(t, 1), self: self}
	a := member("r1")
	for range 3 {
		b, err := json.Marshal(fleet.Lease{Capacity: 10, Clock: time.Now().Add(-time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		l.change(natsx.Runner, a, b)
	}
	l.lease(member("r2"), fleet.Lease{})
	if got := log.String(); strings.Count(got, "a runner's clock is off") != 1 || !strings.Contains(got, a.String()) || !strings.Contains(got, "by=-1h0m") && !strings.Contains(got, "by=-59m59") {
		t.Errorf("logged %s", got)
	}
	if l.standing(a) != fleet.Held {
		t.Error("it is not there")
	}
}
