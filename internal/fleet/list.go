package fleet

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// pulsesOfALease is how many pulses a lease outlasts: as many as fit into its time.
const pulsesOfALease = int(natsx.LeaseTTL / renewEvery)

// stalePulses is how many pulses in a row may be missing in the watch before it is
// begun anew; the second time the gateway also leaves the server for another.
const stalePulses = 3

// maxLost bounds how many runners that are gone a list still knows.
const maxLost = 10_000

// List is what a gateway knows of the fleet. Its methods may run at once. The zero
// List knows no runner; [NewList] makes one that learns.
type List struct {
	conn   *natsx.Conn
	cipher AddressCipher
	self   natsx.Address
	log    *slog.Logger
	every  time.Duration

	mu        sync.Mutex
	held      map[AddressKey]*member
	byName    map[[8]byte]map[AddressKey]*member
	lost      map[AddressKey]struct{} // addresses that were held once
	pulses    int                     // own pulses that came back
	missing   int                     // own pulses sent since the last that came back
	pulsed    bool                    // a pulse has come back on this watch
	exclusive map[string]bool         // tenants that have had runners of their own
	changed   chan struct{}
}

// member is a runner in the list.
type member struct {
	lease    *Lease
	key      AddressKey
	sequence uint64 // of its last renewal
	pulse    int    // the last pulse before that
	placed   int    // sessions placed there since
	skewed   bool   // that its clock is off has been logged
}

// NewList makes the list of the gateway self.
func NewList(conn *natsx.Conn, cipher AddressCipher, self natsx.Address, log *slog.Logger) *List {
	return &List{
		conn: conn, cipher: cipher, self: self, log: log, every: renewEvery,
		held: map[AddressKey]*member{}, byName: map[[8]byte]map[AddressKey]*member{}, lost: map[AddressKey]struct{}{},
		exclusive: map[string]bool{}, changed: make(chan struct{}),
	}
}

// Watch keeps the list until the context ends. It makes the bucket and the
// streams where they are missing.
func (l *List) Watch(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	restart := make(chan struct{}, 1)
	wg.Go(func() { l.beat(ctx, restart) })
	wg.Go(func() { l.complete(ctx) })
	for ctx.Err() == nil {
		watch, stop := context.WithCancel(ctx)
		wg.Go(func() {
			select {
			case <-restart:
				stop()
			case <-watch.Done():
			}
		})
		err := l.conn.WatchLeases(watch, l.self, l.take)
		stop()
		if errors.Is(err, natsx.ErrNoStream) {
			err = errors.Join(err, l.make(ctx))
		}
		if err != nil && ctx.Err() == nil {
			l.log.Warn("the list of runners cannot be watched; the last one serves", "why", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(l.every/10 + rand.N(l.every/10+1)): //nolint:gosec // jitter is no secret
		}
	}
}

// complete makes what is missing of buckets and streams, until it has seen all of
// them: leases can be there, and be watched, while an election has kept the rest
// from being made.
func (l *List) complete(ctx context.Context) {
	for ctx.Err() == nil {
		err := l.conn.Wait(ctx)
		if err == nil {
			err = l.make(ctx)
		}
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			l.log.Warn("buckets and streams of the engine are missing and cannot be made; it is tried again", "why", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(l.every/2 + rand.N(l.every/2+1)): //nolint:gosec // jitter is no secret
		}
	}
}

func (l *List) make(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*l.every)
	defer cancel()
	return l.conn.MakeStreams(ctx, 0)
}

// beat sends pulses, and has the watch begun anew when they do not come back.
func (l *List) beat(ctx context.Context, restart chan<- struct{}) {
	for {
		if l.conn.State() == nil {
			put, cancel := context.WithTimeout(ctx, l.every*4/5)
			_, _ = l.conn.PutLease(put, l.self, []byte("{}")) // what counts is that it comes back
			cancel()
			if n := l.countPulse(); n%stalePulses == 0 && ctx.Err() == nil {
				if n%(2*stalePulses) == 0 {
					_ = l.conn.Move("own pulses do not come back") // it fails only once the connection is closed
				}
				select {
				case restart <- struct{}{}:
				default:
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.every*9/10 + rand.N(l.every/5+1)): //nolint:gosec // jitter is no secret
		}
	}
}

// countPulse counts a pulse, and returns how many are missing now.
func (l *List) countPulse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missing++
	return l.missing
}

// take takes one change of the bucket.
func (l *List) take(c natsx.LeaseChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Role == natsx.Gateway {
		if c.Member == l.self && c.Value != nil {
			l.pulse()
		}
		return
	}
	key := l.cipher.AddressKey(c.Member)
	if c.Value == nil {
		if m := l.held[key]; m != nil && m.sequence < c.Sequence {
			l.drop(m)
		}
		return
	}
	if m := l.held[key]; m != nil && m.sequence >= c.Sequence {
		return // a new watch tells again what is known
	}
	lease, err := decodeLease(c)
	if err != nil {
		l.log.Warn("a runner's lease is left out", "runner", c.Member.String(), "why", err.Error())
		return
	}
	l.keep(key, lease, c.Sequence)
}

// pulse is one step of the list's time.
func (l *List) pulse() {
	l.pulses++
	l.missing = 0
	l.pulsed = true
	for _, m := range l.held {
		if l.pulses-m.pulse > pulsesOfALease {
			l.log.Warn("a runner's lease has ended without a renewal", "runner", m.lease.Runner.String())
			l.drop(m)
		}
	}
}

// keep takes a lease that is new or renewed. Older starts of the same name that
// have not renewed since this one was born are gone at once: that is what makes a
// restart quick. If one of them lives in spite of that, it renews and is back.
func (l *List) keep(key AddressKey, lease *Lease, sequence uint64) {
	m := l.held[key]
	if m == nil {
		for _, old := range l.byName[key.name] {
			if old.sequence < lease.Born {
				l.drop(old)
			}
		}
		m = &member{key: key}
		l.held[key] = m
		if l.byName[key.name] == nil {
			l.byName[key.name] = map[AddressKey]*member{}
		}
		l.byName[key.name][key] = m
		delete(l.lost, key)
	}
	m.lease, m.sequence, m.pulse, m.placed = lease, sequence, l.pulses, 0
	if tenant := lease.Labels[LabelTenant]; tenant != "" {
		l.exclusive[tenant] = true
	}
	if off := lease.Skew.Abs() > natsx.ClockSkew/2; off && !m.skewed {
		l.log.Warn("a runner's clock is off; it will refuse what gateways sign", "runner", lease.Runner.String(), "by", lease.Skew.Round(time.Millisecond).String())
		m.skewed = true
	}
	l.notify()
}

func (l *List) drop(m *member) {
	delete(l.held, m.key)
	delete(l.byName[m.key.name], m.key)
	if len(l.byName[m.key.name]) == 0 {
		delete(l.byName, m.key.name)
	}
	if len(l.lost) >= maxLost {
		for p := range l.lost {
			delete(l.lost, p)
			break
		}
	}
	l.lost[m.key] = struct{}{}
	l.notify()
}

func (l *List) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// State is what a list knows of an address. The zero State is Unknown.
type State int

const (
	Unknown State = iota // no runner that this list knows was ever there
	Lost                 // a runner was there and its lease is gone, or it has been started again
	Held                 // a runner holds a lease there
)

// Find says what is at the address that an id's tail leads to ([AddressCipher.Open]). Lost
// takes a name that this list knows, so no id that a caller makes up is Lost or
// Held; to a caller Unknown is an id that never was.
func (l *List) Find(p AddressKey) (Lease, State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.held[p]; m != nil {
		return *m.lease, Held
	}
	_, was := l.lost[p]
	if was || l.byName[p.name] != nil {
		return Lease{}, Lost
	}
	return Lease{}, Unknown
}

// Holds reports whether the runner with this address holds a lease.
func (l *List) Holds(a natsx.Address) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[l.cipher.AddressKey(a)] != nil
}

// Runners are all leases that are held, by address.
func (l *List) Runners() []Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Lease, 0, len(l.held))
	for m := range maps.Values(l.held) {
		out = append(out, *m.lease)
	}
	slices.SortFunc(out, func(a, b Lease) int {
		if a.Runner.String() < b.Runner.String() {
			return -1
		}
		return 1
	})
	return out
}

// Changed is closed at the next change of the list.
func (l *List) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// Fresh reports whether the list follows the fleet: its own pulses come back. A
// gateway whose list was never fresh is not ready; one whose list is fresh no more
// goes on with the last one.
func (l *List) Fresh() bool {
	if l.conn == nil || l.conn.State() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pulsed && l.missing < stalePulses
}
