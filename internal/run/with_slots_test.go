package run

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
)

// runs is a runner that does what the test wants.
type runs func(ctx context.Context) (tipstaff.Result, error)

func (r runs) Run(ctx context.Context, _ *policy.Grant, _ Live) (tipstaff.Result, error) {
	return r(ctx)
}

func TestSlotsAreGivenInTheOrderOfAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []int
		busy, most := 0, 0
		number := 0
		w := NewWithSlots(runs(func(context.Context) (tipstaff.Result, error) {
			mu.Lock()
			busy++
			most = max(most, busy)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			busy--
			mu.Unlock()
			return tipstaff.Result{}, nil
		}), 3)
		var all sync.WaitGroup
		for range 20 {
			n := number
			number++
			all.Go(func() {
				_, _ = w.Run(t.Context(), nil, Live{})
				mu.Lock()
				order = append(order, n)
				mu.Unlock()
			})
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		if most != 3 {
			t.Errorf("%d ran at once", most)
		}
		if !slices.IsSorted(order) {
			t.Errorf("served in the order %v", order)
		}
	})
}

func TestACancelledCallLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ran := 0
		w := NewWithSlots(runs(func(context.Context) (tipstaff.Result, error) {
			ran++
			<-release
			return tipstaff.Result{}, nil
		}), 1)
		var all sync.WaitGroup
		all.Go(func() { _, _ = w.Run(t.Context(), nil, Live{}) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := w.Run(ctx, nil, Live{}); tipstaff.AsError(err).Rule != "cancelled" {
				t.Errorf("it was told %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(release)
		all.Wait()
		if _, err := w.Run(t.Context(), nil, Live{}); err != nil || ran != 2 {
			t.Errorf("afterwards: %v, %d ran", err, ran)
		}
	})
}
