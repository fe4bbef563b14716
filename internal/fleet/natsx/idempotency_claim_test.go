package natsx_test

import (
	"sync"
	"testing"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

func TestAClaimIsWonOnce(t *testing.T) {
	s := enginetest.Start(t)
	g1, g2 := s.Connect(natsx.Gateway, "g1"), s.Connect(natsx.Gateway, "g2")
	if _, err := g1.Claim(t.Context(), "k", natsx.Address{Name: "r1"}); err == nil {
		t.Error("a claim without a bucket")
	}
	if err := g1.MakeStreams(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[natsx.Address]int{}
	for i, g := range []*natsx.Conn{g1, g2, g1, g2} {
		all.Go(func() {
			a, err := g.Claim(t.Context(), "k", natsx.Address{Name: "r" + string(rune('1'+i))})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[a]++
		})
	}
	all.Wait()
	if len(got) != 1 {
		t.Errorf("the key has %d owners: %v", len(got), got)
	}
}
