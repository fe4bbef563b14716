package natsx_test

import (
	"context"
	"testing"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

func TestTheWatchTellsLeasesAndItsOwnPulse(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	g, r := s.Connect(natsx.Gateway, "g1"), s.Connect(natsx.Runner, "r1")
	if err := g.MakeStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	ga, ra := member("g1"), member("r1")
	if _, err := r.PutLease(within(t), ra, []byte("free")); err != nil {
		t.Fatal(err)
	}
	changes := make(chan natsx.LeaseChange, 16)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.WatchLeases(ctx, ga, func(c natsx.LeaseChange) { changes <- c }) }()
	if c := <-changes; c.Role != natsx.Runner || c.Member != ra || string(c.Value) != "free" {
		t.Errorf("got %+v", c)
	}
	if _, err := g.PutLease(within(t), ga, []byte{}); err != nil {
		t.Fatal(err)
	}
	if c := <-changes; c.Role != natsx.Gateway || c.Member != ga || c.Value == nil {
		t.Errorf("the own pulse: %+v", c)
	}
	if err := r.DropLease(within(t), ra); err != nil {
		t.Fatal(err)
	}
	if c := <-changes; c.Member != ra || c.Value != nil {
		t.Errorf("given back: %+v", c)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
