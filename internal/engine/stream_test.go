package engine_test

import (
	"context"
	"errors"
	"testing"

	"tipstaff/internal/engine"
	"tipstaff/internal/engine/enginetest"
)

func TestAStreamKeepsEachCopyOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	g := s.Connect(engine.Gateway, "g1")
	a, b := member("r1"), member("r2")
	if _, err := g.Append(within(t), engine.CopySubject(3, a), "x", nil); !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("no stream yet: %v", err)
	}
	if err := g.MakeStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	if err := g.MakeStreams(within(t), 1); err != nil {
		t.Fatalf("a second time: %v", err)
	}
	for _, m := range []struct {
		from engine.Address
		id   string
		data string
	}{{a, "a1", "one"}, {b, "b1", "other"}, {a, "a2", "two"}, {a, "a1", "one"}, {a, "a3", "three"}} {
		if _, err := g.Append(within(t), engine.CopySubject(3, m.from), m.id, []byte(m.data)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	var first uint64
	read := func(from uint64) {
		t.Helper()
		got = nil
		err := g.Read(within(t), engine.CopyStream(3), engine.CopySubjects(3, "r1"), from, false, func(m engine.Stored) error {
			if first == 0 {
				first = m.Sequence
			}
			got = append(got, m.ID+" "+string(m.Data))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read(0); len(got) != 3 || got[0] != "a1 one" || got[2] != "a3 three" {
		t.Errorf("got %q", got)
	}
	if read(first + 1); len(got) != 2 {
		t.Errorf("from the second on: %q", got)
	}
	if read(first + 100); len(got) != 0 {
		t.Errorf("after the end: %q", got)
	}
	wrong := errors.New("stop")
	if err := g.Read(within(t), engine.CopyStream(3), ">", 0, false, func(engine.Stored) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("the taker's error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	if err := g.Read(ctx, engine.CopyStream(3), ">", 0, true, func(engine.Stored) error {
		if n++; n == 4 {
			cancel()
		}
		return nil
	}); err != nil || n != 4 {
		t.Errorf("following: %d, %v", n, err)
	}
}

func TestTheWatchTellsLeasesAndItsOwnPulse(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	g, r := s.Connect(engine.Gateway, "g1"), s.Connect(engine.Runner, "r1")
	if err := g.MakeStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	ga, ra := member("g1"), member("r1")
	if _, err := r.PutLease(within(t), ra, []byte("free")); err != nil {
		t.Fatal(err)
	}
	changes := make(chan engine.LeaseChange, 16)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.WatchLeases(ctx, ga, func(c engine.LeaseChange) { changes <- c }) }()
	if c := <-changes; c.Role != engine.Runner || c.Member != ra || string(c.Value) != "free" {
		t.Errorf("got %+v", c)
	}
	if _, err := g.PutLease(within(t), ga, []byte{}); err != nil {
		t.Fatal(err)
	}
	if c := <-changes; c.Role != engine.Gateway || c.Member != ga || c.Value == nil {
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
