package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// RunnerOptions say what a runner is. Name, Capacity and Log must be there.
type RunnerOptions struct {
	Name           string
	Version        string
	Labels         Labels
	Capacity       int        // sessions
	TenantSessions int        // sessions of one tenant; 0: no bound but Capacity
	Running        func() int // commands that run now; nil: not counted
	Log            *slog.Logger

	Now   func() time.Time // nil: time.Now
	Renew time.Duration    // 0: renewEvery
	Claim time.Duration    // 0: claimFor
}

// renewEvery is how often a lease is renewed, more or less a fifth, so that a
// thousand runners which start together do not write together.
const renewEvery = 5 * time.Second

// claimFor is how long a runner listens for another one with its name before it
// starts.
const claimFor = 1500 * time.Millisecond

// movesAfter is how many renewals in a row may fail on one connection before the
// runner leaves the server for another: an election takes 4 to 9 seconds.
const movesAfter = 4

// ErrNameTaken says that another runner has this runner's name.
var ErrNameTaken = errors.New("another runner has this name")

// Runner is one start of a runner as the fleet knows it. Its methods may run at
// once. In order: NewRunner, listen at Address, Claim, Keep in a goroutine, Drain,
// Leave.
type Runner struct {
	conn      *natsx.Conn
	opt       RunnerOptions
	addr      natsx.Address
	admission *admission

	mu       sync.Mutex
	claimed  bool   // no runner of this name answered
	born     uint64 // sequence of the first lease; 0: none is written yet
	conflict error  // a runner of this name was there before

	kick  chan struct{}      // the lease is to be written at once
	hello chan natsx.Address // a runner of this name that answered
}

// NewRunner makes the runner, with a new incarnation. Nothing is sent.
func NewRunner(conn *natsx.Conn, o RunnerOptions) (*Runner, error) {
	if err := natsx.CheckName(o.Name); err != nil {
		return nil, err
	}
	if o.Capacity <= 0 {
		return nil, errors.New("a runner without room for a session is of no use: set TIPSTAFF_RUNNER_CAPACITY to at least 1")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Renew, o.Claim = cmp.Or(o.Renew, renewEvery), cmp.Or(o.Claim, claimFor)
	return &Runner{
		conn: conn, opt: o, addr: natsx.Address{Name: o.Name, InstanceID: natsx.NewInstanceID()},
		admission: newAdmission(o.Capacity, o.TenantSessions, o.Labels),
		kick:      make(chan struct{}, 1), hello: make(chan natsx.Address, 1),
	}, nil
}

// Address is where this start of the runner listens.
func (r *Runner) Address() natsx.Address { return r.addr }

// Admit counts one more session of a tenant, or says why there is no room:
// ErrNoCapacity, ErrDraining, ErrQuota or ErrWrongPool. The result ends the
// session; calls after the first do nothing.
func (r *Runner) Admit(tenant string) (end func(), err error) { return r.admission.admit(tenant) }

// Sessions is how many sessions there are.
func (r *Runner) Sessions() int {
	n, _, _, _ := r.admission.snapshot()
	return n
}

// Keep writes the lease, again and again until the context ends. What cannot be
// written now is written later; the runner goes on either way.
func (r *Runner) Keep(ctx context.Context) {
	failed := 0
	for {
		changed := r.conn.Changed()
		if err := r.renew(ctx); err != nil && ctx.Err() == nil {
			failed++
			if failed == 1 {
				r.opt.Log.Warn("the lease cannot be renewed; what runs goes on", "runner", r.addr.String(), "why", err.Error())
			}
			if failed%movesAfter == 0 && r.conn.State() == nil {
				_ = r.conn.Move("leases cannot be renewed there") // it fails only once the connection is closed
			}
		} else if failed > 0 && err == nil {
			r.opt.Log.Info("the lease is renewed again", "runner", r.addr.String(), "failed", failed)
			failed = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-r.kick:
		case <-changed:
		case <-time.After(r.opt.Renew*4/5 + rand.N(r.opt.Renew*2/5+1)): //nolint:gosec // jitter is no secret
		}
	}
}

// renew writes the lease once, and tells runners of the same name.
func (r *Runner) renew(ctx context.Context) error {
	if err := r.conn.State(); err != nil {
		return err
	}
	if err := r.announce(presentMessage); err != nil {
		return err
	}
	value, err := r.lease().encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.opt.Renew*4/5)
	defer cancel()
	sequence, err := r.conn.PutLease(ctx, r.addr, value)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.born == 0 {
		r.born = sequence
	}
	return nil
}

func (r *Runner) lease() *Lease {
	sessions, tenants, closed, _ := r.admission.snapshot()
	l := &Lease{
		Version: r.opt.Version, Labels: r.opt.Labels, Capacity: r.opt.Capacity, Sessions: sessions,
		CPUs: runtime.GOMAXPROCS(0), Draining: closed, Tenants: tenants, Clock: r.opt.Now(),
	}
	if r.opt.Running != nil {
		l.Running = r.opt.Running()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.Born = r.born
	return l
}

// Drain takes no session any more, says so, and returns when all sessions have
// ended or the context does; then the error says how many are left.
func (r *Runner) Drain(ctx context.Context) error {
	r.admission.close()
	r.renewNow()
	for {
		n, _, _, left := r.admission.snapshot()
		if n == 0 {
			return nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return fmt.Errorf("%d sessions are left at the end of the time to drain: %w", n, context.Cause(ctx))
		}
	}
}

// Leave gives the lease back. Keep must have returned: it would write another one.
func (r *Runner) Leave(ctx context.Context) error { return r.conn.DropLease(ctx, r.addr) }

// renewNow has Keep write the lease at once.
func (r *Runner) renewNow() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}
