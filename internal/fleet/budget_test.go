package fleet_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"tipstaff/internal/fleet"
)

// The budget: a gateway keeps the leases of a thousand runners, each with as many
// tenants as a lease may list, in less than 64 MB, and places by them at once.
func TestAThousandLeasesTakeLittle(t *testing.T) {
	l := newTold(t)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for renewal := range 2 {
		for i := range 1000 {
			tenants := map[fleet.Tenant]int{}
			for k := range 256 {
				var tenant fleet.Tenant
				binary.BigEndian.PutUint64(tenant[:], uint64(i*1000+k))
				tenants[tenant] = k
			}
			a := member(fmt.Sprintf("runner-%d", i))
			a.InstanceID = [8]byte{byte(i), byte(i >> 8)}
			l.lease(a, fleet.Lease{
				Version: "v1.2.3", Capacity: 1000, Sessions: 10 * renewal, CPUs: 16, Tenants: tenants,
				Labels: fleet.Labels{"pool": "gpu", "zone": "eu-1", "size": "big"},
			})
		}
	}
	took := heap() - before
	if n := len(l.Runners()); n != 1000 {
		t.Fatalf("%d leases", n)
	}
	start := time.Now()
	const places = 100
	for range places {
		if _, err := l.Place(t.Context(), fleet.Request{Labels: fleet.Labels{"pool": "gpu"}}, (&taken{}).try); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("1000 leases: %.1f MB; one placing: %v", float64(took)/1e6, time.Since(start)/places)
	if took > 64e6 {
		t.Errorf("1000 leases take %d bytes", took)
	}
	runtime.KeepAlive(l)
}
