package fleet

import (
	"errors"
	"fmt"
	"sync"
)

// Why a runner refuses a session. The text is the word on the wire.
var (
	ErrNoCapacity = errors.New("NO_CAPACITY")
	ErrDraining   = errors.New("DRAINING")
	ErrQuota      = errors.New("QUOTA") // the tenant has as many sessions on this runner as one may
	ErrWrongPool  = errors.New("WRONG_POOL")
)

// RefusalOf reads such a word; nil: it is none.
func RefusalOf(word string) error {
	for _, e := range []error{ErrNoCapacity, ErrDraining, ErrQuota, ErrWrongPool} {
		if word == e.Error() {
			return e
		}
	}
	return nil
}

// admission lets sessions in, and counts them. Its methods may run at once.
type admission struct {
	capacity, perTenant int // perTenant 0: no bound but the capacity
	labels              Labels

	mu           sync.Mutex
	sessions     int
	tenants      map[Tenant]int
	closed       bool
	sessionEnded chan struct{} // closed and replaced whenever a session ends
}

func newAdmission(capacity, perTenant int, labels Labels) *admission {
	return &admission{capacity: capacity, perTenant: perTenant, labels: labels, tenants: map[Tenant]int{}, sessionEnded: make(chan struct{})}
}

// admit counts one more session of a tenant, or says why not. The result ends it,
// once.
func (d *admission) admit(tenant string) (end func(), err error) {
	t := TenantOf(tenant)
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.labels[LabelTenant]
	switch {
	case d.closed:
		return nil, ErrDraining
	case own != "" && own != tenant:
		return nil, ErrWrongPool
	case d.sessions >= d.capacity:
		return nil, ErrNoCapacity
	case d.perTenant > 0 && d.tenants[t] >= d.perTenant:
		return nil, fmt.Errorf("%w: %d sessions of one tenant are the bound of this runner", ErrQuota, d.perTenant)
	}
	d.sessions++
	d.tenants[t]++
	return sync.OnceFunc(func() { d.end(t) }), nil
}

func (d *admission) end(t Tenant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions--
	if d.tenants[t]--; d.tenants[t] <= 0 {
		delete(d.tenants, t)
	}
	close(d.sessionEnded)
	d.sessionEnded = make(chan struct{})
}

// close lets none in any more.
func (d *admission) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// snapshot returns the sessions that were admitted, and a channel that is closed when
// one ends.
func (d *admission) snapshot() (sessions int, tenants map[Tenant]int, closed bool, left <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions, fewest(d.tenants), d.closed, d.sessionEnded
}
