package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
)

// taken is a try that notes whom it asks and answers from a table; without a row
// the runner takes the session.
type taken struct {
	asked   []string
	answers map[string]error
}

func (k *taken) try(_ context.Context, l fleet.Lease) error {
	k.asked = append(k.asked, l.Runner.Name)
	return k.answers[l.Runner.Name]
}

func TestPlacementPrefersTheLessLoaded(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.lease(member("empty"), fleet.Lease{Capacity: 100000, CPUs: 4})
	l.lease(member("half"), fleet.Lease{Capacity: 100000, Sessions: 50000, CPUs: 4})
	l.lease(member("busy"), fleet.Lease{Capacity: 100000, Running: 15, CPUs: 4})
	count := map[string]int{}
	for range 3000 {
		lease, err := l.Place(t.Context(), fleet.Request{}, (&taken{}).try)
		if err != nil {
			t.Fatal(err)
		}
		count[lease.Runner.Name]++
	}
	// Two are drawn of three, with one perhaps twice: the best wins 5 of 9 draws.
	if count["empty"] < 1500 || count["half"] < 800 || count["half"] > 1200 || count["busy"] > 450 {
		t.Errorf("placed: %v", count)
	}
}

func TestPlacementKeepsPoolsAndTenantsApart(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	for name, labels := range map[string]fleet.Labels{
		"plain": nil, "gpu": {"pool": "gpu"}, "big": {"size": "big"}, "blue": {"tenant": "blue"}, "bluegpu": {"tenant": "blue", "pool": "gpu"},
	} {
		l.lease(member(name), fleet.Lease{Capacity: 1000, Labels: labels})
	}
	for name, tt := range map[string]struct {
		want fleet.Request
		may  string
	}{
		"anything":             {fleet.Request{Tenant: "red"}, "plain big"},
		"a pool":               {fleet.Request{Tenant: "red", Labels: fleet.Labels{"pool": "gpu"}}, "gpu"},
		"a label":              {fleet.Request{Tenant: "red", Labels: fleet.Labels{"size": "big"}}, "big"},
		"a tenant of its own":  {fleet.Request{Tenant: "blue"}, "blue"},
		"its pool":             {fleet.Request{Tenant: "blue", Labels: fleet.Labels{"pool": "gpu"}}, "bluegpu"},
		"what nobody has":      {fleet.Request{Tenant: "red", Labels: fleet.Labels{"size": "huge"}}, ""},
		"another tenant's own": {fleet.Request{Tenant: "red", Labels: fleet.Labels{"tenant": "blue"}}, ""},
	} {
		for range 40 {
			lease, err := l.Place(t.Context(), tt.want, (&taken{}).try)
			if busy := new(fleet.NoCapacityError); tt.may == "" && !errors.As(err, &busy) {
				t.Errorf("%s: %v, %v", name, lease.Runner, err)
			} else if tt.may != "" && (err != nil || !strings.Contains(" "+tt.may+" ", " "+lease.Runner.Name+" ")) {
				t.Errorf("%s: %v, %v", name, lease.Runner, err)
			}
		}
	}
	l.lease(member("redbig"), fleet.Lease{Capacity: 1000, Labels: fleet.Labels{"tenant": "red", "pool": "large"}})
	for tenant, pools := range map[string]string{"green": "; the pools are gpu", "red": "; the pools are large", "blue": "; the pools are gpu"} {
		_, err := l.Place(t.Context(), fleet.Request{Tenant: tenant, Labels: fleet.Labels{"pool": "gpux"}}, (&taken{}).try)
		if busy := new(fleet.NoCapacityError); !errors.As(err, &busy) || busy.Why != "no runner has the labels pool=gpux"+pools {
			t.Errorf("a pool that is none, for %s: %v", tenant, err)
		}
	}
	for _, lease := range l.Runners() {
		if lease.Labels["tenant"] == "blue" {
			l.change(natsx.Runner, lease.Runner, nil)
		}
	}
	if lease, err := l.Place(t.Context(), fleet.Request{Tenant: "blue"}, (&taken{}).try); err == nil {
		t.Errorf("a tenant whose own runners are gone is placed among others, on %v", lease.Runner)
	}
}

func TestARunnerMayRefuseAndFourOthersAreAsked(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	k := &taken{answers: map[string]error{}}
	for i := range 20 {
		name := fmt.Sprintf("r%d", i)
		l.lease(member(name), fleet.Lease{})
		k.answers[name] = []error{fleet.ErrNoCapacity, fmt.Errorf("said: %w", fleet.ErrDraining), fleet.ErrQuota, fleet.ErrWrongPool}[i%4]
	}
	_, err := l.Place(t.Context(), fleet.Request{}, k.try)
	busy := new(fleet.NoCapacityError)
	if !errors.As(err, &busy) || busy.RetryAfter < time.Second || busy.RetryAfter > 3*time.Second {
		t.Errorf("got %v", err)
	}
	seen := map[string]bool{}
	for _, name := range k.asked {
		seen[name] = true
	}
	if len(k.asked) != 5 || len(seen) != 5 {
		t.Errorf("asked %v", k.asked)
	}
	wrong := errors.New("silence")
	for name := range k.answers {
		k.answers[name] = wrong
	}
	k.asked = nil
	if _, err := l.Place(t.Context(), fleet.Request{}, k.try); !errors.Is(err, wrong) || len(k.asked) != 1 {
		t.Errorf("after silence nobody else is asked: %v, %v", k.asked, err)
	}
}

func TestPlacementWaitsForRoomAndNotForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, a := newTold(t), member("r1")
		l.lease(a, fleet.Lease{Capacity: 1, Sessions: 1})
		start := time.Now()
		_, err := l.Place(t.Context(), fleet.Request{Wait: 3 * time.Second}, (&taken{}).try)
		if busy := new(fleet.NoCapacityError); !errors.As(err, &busy) || !strings.Contains(busy.Why, "full") || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		go func() {
			time.Sleep(time.Second)
			l.lease(a, fleet.Lease{Capacity: 1})
		}()
		start = time.Now()
		if _, err := l.Place(t.Context(), fleet.Request{Wait: 3 * time.Second}, (&taken{}).try); err != nil || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		// The runner has told of no new session yet; what was placed counts.
		if _, err := l.Place(t.Context(), fleet.Request{}, (&taken{}).try); err == nil {
			t.Error("two sessions for one room")
		}
	})
}

func TestATenantsSessionsAreCountedOverTheFleet(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	for i := range 3 {
		l.lease(member(fmt.Sprintf("r%d", i)), fleet.Lease{Tenants: map[fleet.Tenant]int{fleet.TenantOf("blue"): 2, fleet.TenantOf("red"): 1}})
	}
	if got := l.TenantSessions("blue"); got != 6 {
		t.Errorf("counted %d", got)
	}
	_, err := l.Place(t.Context(), fleet.Request{Tenant: "blue", TenantSessions: 6}, (&taken{}).try)
	if busy := new(fleet.NoCapacityError); !errors.As(err, &busy) || !strings.Contains(busy.Why, "6 are its bound") {
		t.Errorf("blue: %v", err)
	}
	if _, err := l.Place(t.Context(), fleet.Request{Tenant: "red", TenantSessions: 6}, (&taken{}).try); err != nil {
		t.Errorf("red: %v", err)
	}
}

func TestLabelsAreReadStrictly(t *testing.T) {
	t.Parallel()
	l, err := fleet.ParseLabels(" pool=gpu, zone=a ,")
	if err != nil || l.String() != "pool=gpu,zone=a" {
		t.Errorf("got %v, %v", l, err)
	}
	for _, bad := range []string{"pool", "=gpu", "pool=", "a=b c", "a=1,a=2"} {
		if _, err := fleet.ParseLabels(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
