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
	ErrNotForHere = errors.New("WRONG_POOL")
)

// RefusalOf reads such a word; nil: it is none.
func RefusalOf(word string) error {
	for _, e := range []error{ErrNoCapacity, ErrDraining, ErrQuota, ErrNotForHere} {
		if word == e.Error() {
			return e
		}
	}
	return nil
}

// door lets sessions in, and counts them. Its methods may run at once.
type door struct {
	capacity, perTenant int // perTenant 0: no bound but the capacity
	labels              Labels

	mu       sync.Mutex
	sessions int
	tenants  map[Tenant]int
	closed   bool
	left     chan struct{} // closed and replaced whenever a session ends
}

func newDoor(capacity, perTenant int, labels Labels) *door {
	return &door{capacity: capacity, perTenant: perTenant, labels: labels, tenants: map[Tenant]int{}, left: make(chan struct{})}
}

// admit counts one more session of a tenant, or says why not. The result ends it,
// once.
func (d *door) admit(tenant string) (end func(), err error) {
	t := TenantOf(tenant)
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.labels[LabelTenant]
	switch {
	case d.closed:
		return nil, ErrDraining
	case own != "" && own != tenant:
		return nil, ErrNotForHere
	case d.sessions >= d.capacity:
		return nil, ErrNoCapacity
	case d.perTenant > 0 && d.tenants[t] >= d.perTenant:
		return nil, fmt.Errorf("%w: %d sessions of one tenant are the bound of this runner", ErrQuota, d.perTenant)
	}
	d.sessions++
	d.tenants[t]++
	return sync.OnceFunc(func() { d.end(t) }), nil
}

func (d *door) end(t Tenant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions--
	if d.tenants[t]--; d.tenants[t] <= 0 {
		delete(d.tenants, t)
	}
	close(d.left)
	d.left = make(chan struct{})
}

// close lets none in any more.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// now is what stands behind the door, and what is closed when one leaves.
func (d *door) now() (sessions int, tenants map[Tenant]int, closed bool, left <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions, fewest(d.tenants), d.closed, d.left
}
