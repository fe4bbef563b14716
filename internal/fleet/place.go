package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Request says what a new session needs.
type Request struct {
	Tenant string
	Labels Labels        // a runner must have all of them; without a pool, it must have none either
	Wait   time.Duration // how long to wait for room; 0: not at all

	// TenantSessions bounds the sessions of the tenant on all runners together, by
	// their leases: it can be exceeded by what was placed within seconds on other
	// gateways. The bound that always holds is each runner's own. 0: none.
	TenantSessions int
	// Passing: it is no session but a call that leaves none, so it is counted
	// nowhere, and a runner whose sessions are full takes it.
	Sessionless bool
}

// tries is how many runners are asked in one round: the best, and four others.
const tries = 5

// NoCapacityError is the error when no runner takes the session now. Nothing was opened.
type NoCapacityError struct {
	Why        string
	RetryAfter time.Duration
}

func (e *NoCapacityError) Error() string { return "no runner takes a session now: " + e.Why }

// Place opens a session: it asks try of one runner after another until one takes
// it. Of two that are chosen by chance the one with less load is asked, and after
// it up to four others. try returns ErrNoCapacity, ErrDraining, ErrQuota or
// ErrWrongPool, wrapped or not, if the runner refused; any other error ends the
// attempt and is returned, because it is not known then whether a session was
// opened. If all refuse, Place waits for the list to change, for at most
// want.Wait, and asks again; then it returns a *[NoCapacityError].
func (l *List) Place(ctx context.Context, want Request, try func(context.Context, Lease) error) (Lease, error) {
	end := time.NewTimer(want.Wait)
	defer end.Stop()
	for {
		changed := l.Changed()
		lease, why, err := l.round(ctx, want, try)
		if why == "" {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return Lease{}, context.Cause(ctx)
		case <-end.C:
			return Lease{}, &NoCapacityError{Why: why, RetryAfter: time.Second + rand.N(2*time.Second)} //nolint:gosec // jitter is no secret
		case <-changed:
		}
	}
}

// round asks up to five runners. Without a word why it was not to be, it is over:
// with a session or with an error.
func (l *List) round(ctx context.Context, want Request, try func(context.Context, Lease) error) (Lease, string, error) {
	if n := l.TenantSessions(want.Tenant); !want.Sessionless && want.TenantSessions > 0 && n >= want.TenantSessions {
		return Lease{}, fmt.Sprintf("the tenant has %d sessions, and %d are its bound", n, want.TenantSessions), nil
	}
	asked := map[AddressKey]bool{}
	why := ""
	for range tries {
		m, none := l.choose(want, asked)
		if m == nil {
			if why == "" {
				why = none
			}
			break
		}
		asked[m.key] = true
		err := try(ctx, m.lease)
		switch {
		case err == nil:
			return m.lease, "", nil
		case errors.Is(err, ErrNoCapacity), errors.Is(err, ErrDraining), errors.Is(err, ErrQuota), errors.Is(err, ErrWrongPool):
			l.full(m.key, err)
			why = "the runners that were asked have no room for it"
		default:
			return m.lease, "", err
		}
	}
	return Lease{}, why, nil
}

// candidate is a runner as it stood when it was chosen.
type candidate struct {
	key   AddressKey
	lease Lease
}

// choose takes the better of two that are drawn from all that could take the
// session, and counts it there.
func (l *List) choose(want Request, asked map[AddressKey]bool) (*candidate, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	candidates, full := l.candidates(want, asked)
	switch {
	case len(candidates) == 0 && full > 0:
		return nil, "all runners that it could have are full"
	case len(candidates) == 0 && len(want.Labels) > 0:
		why := "no runner has the labels " + want.Labels.String()
		if pools := l.pools(want.Tenant); len(pools) > 0 {
			why += "; the pools are " + strings.Join(pools[:min(len(pools), 20)], ", ")
		}
		return nil, why
	case len(candidates) == 0:
		return nil, "there is no runner for it"
	}
	best := candidates[rand.IntN(len(candidates))]                                                                      //nolint:gosec // a choice among runners is no secret
	if other := candidates[rand.IntN(len(candidates))]; other.lease.load(other.placed) < best.lease.load(best.placed) { //nolint:gosec // a choice among runners is no secret
		best = other
	}
	if !want.Sessionless {
		best.placed++
	}
	return &candidate{best.key, *best.lease}, ""
}

// candidates are the runners that could take the session, and how many could but for
// the room. It looks at all of them: a thousand take a third of a millisecond on two
// busy cores, once a session.
func (l *List) candidates(want Request, asked map[AddressKey]bool) (candidates []*member, full int) {
	for _, m := range l.held {
		switch {
		case !l.fits(m.lease, want):
		case asked[m.key] || m.lease.Draining || !want.Sessionless && m.lease.Sessions+m.placed >= m.lease.Capacity:
			full++
		default:
			candidates = append(candidates, m)
		}
	}
	return candidates, full
}

// fits says whether a runner is for such sessions at all. A tenant that has, or
// has had, runners of its own is never placed among others.
func (l *List) fits(lease *Lease, want Request) bool {
	own := lease.Labels[LabelTenant]
	if own != "" && own != want.Tenant || own == "" && l.exclusive[want.Tenant] {
		return false
	}
	return lease.Labels.Meet(want.Labels)
}

// pools are the pools that a tenant can ask for, for an answer that teaches.
func (l *List) pools(tenant string) []string {
	pools := map[string]bool{}
	for _, m := range l.held {
		pool := m.lease.Labels[LabelPool]
		if pool != "" && l.fits(m.lease, Request{Tenant: tenant, Labels: Labels{LabelPool: pool}}) {
			pools[pool] = true
		}
	}
	return slices.Sorted(maps.Keys(pools))
}

// full takes a runner's own word that it has no room, until its next renewal.
func (l *List) full(p AddressKey, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.held[p]
	switch {
	case m == nil:
	case errors.Is(err, ErrNoCapacity), errors.Is(err, ErrDraining):
		m.placed = m.lease.Capacity
	default:
		m.placed--
	}
}

// TenantSessions is how many sessions a tenant has on all runners, by their leases.
func (l *List) TenantSessions(tenant string) int {
	t := TenantOf(tenant)
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, m := range l.held {
		n += m.lease.Tenants[t]
	}
	return n
}
