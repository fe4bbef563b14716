package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

const step = 100 * time.Millisecond

func newRunner(t testing.TB, s *enginetest.Server, o fleet.RunnerOptions) *fleet.Runner {
	t.Helper()
	o.Log, o.Renew = quiet(), step
	if o.Claim == 0 {
		o.Claim = 3 * step
	}
	if o.Capacity == 0 {
		o.Capacity = 3
	}
	r, err := fleet.NewRunner(s.Connect(natsx.Runner, o.Name), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keep has the runner keep its lease, until the result is called.
func keep(t testing.TB, r *fleet.Runner) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Keep(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func watch(t testing.TB, s *enginetest.Server) *fleet.List {
	t.Helper()
	return watchWith(t, s, quiet())
}

func watchWith(t testing.TB, s *enginetest.Server, log *slog.Logger) *fleet.List {
	t.Helper()
	l := fleet.NewList(s.Connect(natsx.Gateway, "g1"), newSeal(t, 1), member("g1"), log)
	l.SetEvery(step)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Watch(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return l
}

// until waits for the list to come to what is said.
func until(t testing.TB, l *fleet.List, what string, is func() bool) {
	t.Helper()
	end := time.After(30 * time.Second)
	for {
		changed := l.Changed()
		if is() {
			return
		}
		select {
		case <-changed:
		case <-time.After(step): // Fresh changes without the list
		case <-end:
			t.Fatalf("%s: never", what)
		}
	}
}

func TestARunnerIsKnownWhileItLives(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	l := watch(t, s) // makes the bucket, which is not there
	r := newRunner(t, s, fleet.RunnerOptions{Name: "r1", Version: "v1", Labels: fleet.Labels{"pool": "gpu"}})
	if err := r.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := keep(t, r)
	until(t, l, "it is there", func() bool { return l.Holds(r.Address()) })
	end, err := r.Admit("blue")
	if err != nil {
		t.Fatal(err)
	}
	until(t, l, "its session is counted", func() bool { return l.TenantSessions("blue") == 1 })
	until(t, l, "its clock is this one's", func() bool { return l.Runners()[0].Skew.Abs() <= time.Second }) // each lease measures it
	if got := l.Runners()[0]; got.Version != "v1" || got.Labels["pool"] != "gpu" {
		t.Errorf("got %+v", got)
	}

	drained := make(chan error, 1)
	go func() { drained <- r.Drain(t.Context()) }()
	until(t, l, "it drains", func() bool { rs := l.Runners(); return len(rs) == 1 && rs[0].Draining })
	if _, err := r.Admit("blue"); !errors.Is(err, fleet.ErrDraining) {
		t.Errorf("a session during a drain: %v", err)
	}
	end()
	end()
	if err := <-drained; err != nil {
		t.Error(err)
	}
	stop()
	if err := r.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, l, "it is gone", func() bool { return !l.Holds(r.Address()) })
}

func TestADrainHasADeadline(t *testing.T) {
	t.Parallel()
	r := newRunner(t, enginetest.Start(t), fleet.RunnerOptions{Name: "r1"})
	if _, err := r.Admit("blue"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), step)
	defer cancel()
	if err := r.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 sessions") {
		t.Errorf("got %v", err)
	}
}

func TestARunnerHasTheLastWordOnSessions(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	r := newRunner(t, s, fleet.RunnerOptions{Name: "r1", TenantSessions: 2})
	var ends []func()
	for range 2 {
		end, err := r.Admit("blue")
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if _, err := r.Admit("blue"); !errors.Is(err, fleet.ErrQuota) {
		t.Errorf("a third of one tenant: %v", err)
	}
	if _, err := r.Admit("red"); err != nil {
		t.Errorf("one of another: %v", err)
	}
	if _, err := r.Admit("green"); !errors.Is(err, fleet.ErrNoCapacity) {
		t.Errorf("one too many: %v", err)
	}
	ends[0]()
	ends[0]() // counts once
	if _, err := r.Admit("blue"); err != nil || r.Sessions() != 3 {
		t.Errorf("in the place of one that ended: %v, %d", err, r.Sessions())
	}
	own := newRunner(t, s, fleet.RunnerOptions{Name: "r2", Labels: fleet.Labels{"tenant": "blue"}})
	if _, err := own.Admit("red"); !errors.Is(err, fleet.ErrWrongPool) || !errors.Is(fleet.RefusalOf(err.Error()), fleet.ErrWrongPool) {
		t.Errorf("another tenant on a tenant's own runner: %v", err)
	}
	if _, err := own.Admit("blue"); err != nil {
		t.Errorf("the tenant itself: %v", err)
	}
}

func TestASecondRunnerWithOneNameDoesNotStart(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	l := watch(t, s)
	const answered = 2 * time.Second // the one that is there has so long to say so
	first := newRunner(t, s, fleet.RunnerOptions{Name: "r1", Claim: answered})
	if err := first.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := newRunner(t, s, fleet.RunnerOptions{Name: "r1", Claim: answered})
	err := second.Claim(t.Context()) // before the first one's lease, too
	if !errors.Is(err, fleet.ErrNameTaken) || !strings.Contains(err.Error(), "TIPSTAFF_RUNNER_NAME") || !strings.Contains(err.Error(), first.Address().String()) {
		t.Errorf("got %v", err)
	}
	keep(t, first)
	until(t, l, "the first is there", func() bool { return l.Holds(first.Address()) })
	if err := newRunner(t, s, fleet.RunnerOptions{Name: "r1", Claim: answered}).Claim(t.Context()); !errors.Is(err, fleet.ErrNameTaken) {
		t.Errorf("with a lease: %v", err)
	}
	if err := newRunner(t, s, fleet.RunnerOptions{Name: "r2"}).Claim(t.Context()); err != nil {
		t.Errorf("another name: %v", err)
	}

	// Two that start at once: one of them starts.
	errs := make(chan error, 2)
	for range 2 {
		r := newRunner(t, s, fleet.RunnerOptions{Name: "r3", Claim: answered})
		go func() { errs <- r.Claim(t.Context()) }()
	}
	a, b := <-errs, <-errs
	if (a == nil) == (b == nil) {
		t.Errorf("both or none: %v, %v", a, b)
	}
}

func TestTheYoungerOfTwoThatMeetLaterTakesNoMoreSessions(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	l := watch(t, s)
	older := newRunner(t, s, fleet.RunnerOptions{Name: "r1"})
	if err := older.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	younger := newRunner(t, s, fleet.RunnerOptions{Name: "r1"})
	stop := keep(t, older) // it is first, then silent, as if it were cut off
	until(t, l, "the older is there", func() bool { return l.Holds(older.Address()) })
	first := l.Runners()[0]
	until(t, l, "it knows when it was born", func() bool {
		now := l.Runners()[0]
		known := now.Clock.After(first.Clock) && now.Born == first.Born
		first = now
		return known
	})
	stop()
	keep(t, younger) // without a claim: it asked while the other was cut off
	until(t, l, "the younger is there", func() bool { return l.Holds(younger.Address()) && !l.Holds(older.Address()) })
	if err := younger.ClaimUnanswered(t.Context()); err != nil {
		t.Fatal(err)
	}
	keep(t, older)
	until(t, l, "they meet", func() bool { return younger.Conflict() != nil })
	if _, err := younger.Admit("blue"); !errors.Is(err, fleet.ErrDraining) {
		t.Errorf("the younger takes a session: %v", err)
	}
	if _, err := older.Admit("blue"); err != nil || older.Conflict() != nil {
		t.Errorf("the older takes none: %v, %v", err, older.Conflict())
	}
	until(t, l, "both are in the list", func() bool { return l.Holds(younger.Address()) && l.Holds(older.Address()) })
}

func TestWithoutJetStreamTheLastListServes(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	l := watch(t, s)
	r := newRunner(t, s, fleet.RunnerOptions{Name: "r1"})
	keep(t, r)
	until(t, l, "it is there", func() bool { return l.Holds(r.Address()) && l.Fresh() })
	s.StopJetStream()
	until(t, l, "the list is no more fresh", func() bool { return !l.Fresh() })
	until(t, l, "longer than a lease lasts", func() bool { return l.Missing() > 2*fleet.PulsesOfALease })
	if !l.Holds(r.Address()) {
		t.Error("a runner is declared dead because JetStream is")
	}
	if _, err := l.Place(t.Context(), fleet.Request{}, (&taken{}).try); err != nil {
		t.Errorf("placing by the last list: %v", err)
	}
	s.StartJetStream()
	until(t, l, "the list is fresh again", l.Fresh)
	if !l.Holds(r.Address()) {
		t.Error("a runner is lost as JetStream comes back")
	}
}

func TestAServerThatForgetsEverythingIsFilledAgain(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	l := watch(t, s)
	r := newRunner(t, s, fleet.RunnerOptions{Name: "r1"})
	keep(t, r)
	until(t, l, "it is there", func() bool { return l.Holds(r.Address()) && l.Fresh() })
	s.Stop() // the bucket lives in memory
	until(t, l, "the list is no more fresh", func() bool { return !l.Fresh() })
	s.Start()
	until(t, l, "the list is fresh again", l.Fresh)
	if !l.Holds(r.Address()) {
		t.Error("a runner is lost as the server comes back")
	}
	before := l.Runners()[0].Clock
	until(t, l, "the lease is renewed", func() bool { return l.Runners()[0].Clock.After(before) })
}

func TestWhatIsMissingOfTheEngineIsMadeAsSoonAsItCanBe(t *testing.T) {
	t.Parallel()
	const disk = 300 << 20
	s := enginetest.StartSmall(t, disk)
	free := s.Reserve(disk - 1<<20) // the leases live in memory, and the claims need a disk
	var log testlog
	l := watchWith(t, s, slog.New(slog.NewTextHandler(&log, nil)))
	g := s.Connect(natsx.Gateway, "g2")
	claim := func() error {
		_, err := g.Claim(t.Context(), "k", member("r1"))
		return err
	}
	until(t, l, "leases are followed, and the operator is told what is missing", func() bool {
		return l.Fresh() && strings.Contains(log.String(), "buckets and streams of the engine are missing and cannot be made") && strings.Contains(log.String(), "cannot make the bucket of claims")
	})
	if err := claim(); !errors.Is(err, natsx.ErrNoStream) {
		t.Errorf("a claim without its bucket: %v", err)
	}
	failed := strings.Count(log.String(), "cannot be watched") // such a failure would make what is missing, too
	free()
	until(t, l, "a claim is taken", func() bool { return claim() == nil })
	if n := strings.Count(log.String(), "cannot be watched"); n != failed {
		t.Errorf("the watch has failed since: %s", &log)
	}
}

func TestAListThatNeverHadAConnectionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	conn := s.Connect(natsx.Gateway, "g1")
	s.Stop()
	l := fleet.NewList(conn, newSeal(t, 1), member("g1"), quiet())
	l.SetEvery(step)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Watch(ctx) }()
	if l.Fresh() || len(l.Runners()) != 0 {
		t.Error("it knows of runners")
	}
	cancel()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
}

// testlog is a log that is written and read at once.
type testlog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *testlog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *testlog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
