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

// Want says what a new session needs.
type Want struct {
	Tenant string
	Labels Labels        // a runner must have all of them; without a pool, it must have none either
	Wait   time.Duration // how long to wait for room; 0: not at all

	// TenantSessions bounds the sessions of the tenant on all runners together, by
	// their leases: it can be exceeded by what was placed within seconds on other
	// gateways. The bound that always holds is each runner's own. 0: none.
	TenantSessions int
	// Passing: it is no session but a call that leaves none, so it is counted
	// nowhere, and a runner whose sessions are full takes it.
	Passing bool
}

// tries is how many runners are asked in one round: the best, and four others.
const tries = 5

// Busy is the error when no runner takes the session now. Nothing was opened.
type Busy struct {
	Why        string
	RetryAfter time.Duration
}

func (b *Busy) Error() string { return "no runner takes a session now: " + b.Why }

// Place opens a session: it asks try of one runner after another until one takes
// it. Of two that are chosen by chance the one with less load is asked, and after
// it up to four others. try returns ErrNoCapacity, ErrDraining, ErrQuota or
// ErrNotForHere, wrapped or not, if the runner refused; any other error ends the
// attempt and is returned, because it is not known then whether a session was
// opened. If all refuse, Place waits for the list to change, for at most
// want.Wait, and asks again; then it returns a *[Busy].
func (l *List) Place(ctx context.Context, want Want, try func(context.Context, Lease) error) (Lease, error) {
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
			return Lease{}, &Busy{Why: why, RetryAfter: time.Second + rand.N(2*time.Second)} //nolint:gosec // jitter is no secret
		case <-changed:
		}
	}
}

// round asks up to five runners. Without a word why it was not to be, it is over:
// with a session or with an error.
func (l *List) round(ctx context.Context, want Want, try func(context.Context, Lease) error) (Lease, string, error) {
	if n := l.TenantSessions(want.Tenant); !want.Passing && want.TenantSessions > 0 && n >= want.TenantSessions {
		return Lease{}, fmt.Sprintf("the tenant has %d sessions, and %d are its bound", n, want.TenantSessions), nil
	}
	asked := map[Place]bool{}
	why := ""
	for range tries {
		m, none := l.choose(want, asked)
		if m == nil {
			if why == "" {
				why = none
			}
			break
		}
		asked[m.place] = true
		err := try(ctx, m.lease)
		switch {
		case err == nil:
			return m.lease, "", nil
		case errors.Is(err, ErrNoCapacity), errors.Is(err, ErrDraining), errors.Is(err, ErrQuota), errors.Is(err, ErrNotForHere):
			l.full(m.place, err)
			why = "the runners that were asked have no room for it"
		default:
			return m.lease, "", err
		}
	}
	return Lease{}, why, nil
}

// chosen is a runner as it stood when it was chosen.
type chosen struct {
	place Place
	lease Lease
}

// choose takes the better of two that are drawn from all that could take the
// session, and counts it there.
func (l *List) choose(want Want, asked map[Place]bool) (*chosen, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fitting, full := l.fitting(want, asked)
	switch {
	case len(fitting) == 0 && full > 0:
		return nil, "all runners that it could have are full"
	case len(fitting) == 0 && len(want.Labels) > 0:
		why := "no runner has the labels " + want.Labels.String()
		if pools := l.pools(want.Tenant); len(pools) > 0 {
			why += "; the pools are " + strings.Join(pools[:min(len(pools), 20)], ", ")
		}
		return nil, why
	case len(fitting) == 0:
		return nil, "there is no runner for it"
	}
	best := fitting[rand.IntN(len(fitting))]                                                                      //nolint:gosec // a choice among runners is no secret
	if other := fitting[rand.IntN(len(fitting))]; other.lease.load(other.placed) < best.lease.load(best.placed) { //nolint:gosec // a choice among runners is no secret
		best = other
	}
	if !want.Passing {
		best.placed++
	}
	return &chosen{best.place, *best.lease}, ""
}

// fitting are the runners that could take the session, and how many could but for
// the room. It looks at all of them: a thousand take a third of a millisecond on two
// busy cores, once a session.
func (l *List) fitting(want Want, asked map[Place]bool) (fitting []*member, full int) {
	for _, m := range l.held {
		switch {
		case !l.fits(m.lease, want):
		case asked[m.place] || m.lease.Draining || !want.Passing && m.lease.Sessions+m.placed >= m.lease.Capacity:
			full++
		default:
			fitting = append(fitting, m)
		}
	}
	return fitting, full
}

// fits says whether a runner is for such sessions at all. A tenant that has, or
// has had, runners of its own is never placed among others.
func (l *List) fits(lease *Lease, want Want) bool {
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
		if pool != "" && l.fits(m.lease, Want{Tenant: tenant, Labels: Labels{LabelPool: pool}}) {
			pools[pool] = true
		}
	}
	return slices.Sorted(maps.Keys(pools))
}

// full takes a runner's own word that it has no room, until its next renewal.
func (l *List) full(p Place, err error) {
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
