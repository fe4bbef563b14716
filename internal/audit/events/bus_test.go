package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func record(seq uint64) Event {
	return Event{Kind: Record, Seq: seq, Data: fmt.Appendf(nil, "record %d", seq)}
}

// account checks that what a subscriber got is in order and complete.
type account struct {
	t                    *testing.T
	next, received, lost uint64
}

func (a *account) take(e Event) {
	a.t.Helper()
	switch e.Kind {
	case Record:
		if e.Seq != a.next+1 || string(e.Data) != fmt.Sprintf("record %d", e.Seq) {
			a.t.Errorf("after %d came %d with %q", a.next, e.Seq, e.Data)
		}
		a.next = e.Seq
		a.received++
	case Lost:
		if e.From != a.next+1 || e.To-e.From+1 != e.Count {
			a.t.Errorf("after %d: %d lost, from %d to %d", a.next, e.Count, e.From, e.To)
		}
		a.next = e.To
		a.lost += e.Count
	default:
		a.t.Errorf("an event of the kind %v", e.Kind)
	}
}

func TestWhatIsReceivedAndWhatIsLostIsWhatWasPublishedInOrder(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			var b Bus
			var readers sync.WaitGroup
			chance := rand.New(rand.NewPCG(seed, 1))
			const published = 500
			for range 4 {
				sub := b.Subscribe(Options{Events: 1 + chance.IntN(20), Bytes: 1 + chance.IntN(200)})
				pace := time.Duration(chance.IntN(3)) * time.Millisecond
				readers.Go(func() {
					a := account{t: t}
					for {
						e, ok := sub.Next(t.Context())
						if !ok {
							break
						}
						a.take(e)
						time.Sleep(pace)
					}
					if a.received+a.lost != published {
						t.Errorf("seed %d: %d received and %d lost of %d", seed, a.received, a.lost, published)
					}
				})
			}
			for seq := range uint64(published) {
				b.Publish(record(seq + 1))
				time.Sleep(time.Duration(chance.IntN(2)) * time.Millisecond)
			}
			b.Close(t.Context())
			readers.Wait()
		})
	}
}

func TestASubscriberThatNeverReadsHoldsUpNobody(t *testing.T) {
	var b Bus
	b.Subscribe(Options{Events: 3})
	other := b.Subscribe(Options{Events: 200_000, Bytes: 100 << 20})
	const many = 100_000
	for seq := range uint64(many) {
		b.Publish(record(seq + 1))
	}
	a := account{t: t}
	for {
		e, ok := other.Poll()
		if !ok {
			break
		}
		a.take(e)
	}
	if a.received != many {
		t.Errorf("the other one got %d", a.received)
	}
}

func TestTheQueueIsBoundedInBytesAndTakesOneEventHoweverLarge(t *testing.T) {
	var b Bus
	s := b.Subscribe(Options{Events: 100, Bytes: 10})
	b.Publish(Event{Kind: Record, Seq: 1, Data: make([]byte, 50)})
	b.Publish(Event{Kind: Record, Seq: 2, Data: []byte("x")})
	if e, ok := s.Poll(); !ok || e.Seq != 1 {
		t.Errorf("%+v, %v", e, ok)
	}
	if e, ok := s.Poll(); !ok || e.Kind != Lost || e.Count != 1 || e.From != 2 {
		t.Errorf("%+v, %v", e, ok)
	}
}

func TestACheckpointFindsRoomWhereRecordsFindNone(t *testing.T) {
	var b Bus
	s := b.Subscribe(Options{Events: 1})
	for seq := range uint64(3) {
		b.Publish(record(seq + 1))
	}
	b.Publish(Event{Kind: Checkpoint, Data: []byte("note")})
	var kinds []Kind
	for {
		e, ok := s.Poll()
		if !ok {
			break
		}
		kinds = append(kinds, e.Kind)
	}
	if fmt.Sprint(kinds) != fmt.Sprint([]Kind{Record, Lost, Checkpoint}) {
		t.Errorf("%v", kinds)
	}
	for range 100 {
		b.Publish(Event{Kind: Checkpoint, Data: []byte("note")})
	}
	if n := len(s.queue); n != reserve+1 {
		t.Errorf("%d wait", n)
	}
}

func TestCloseDrainsForABoundedTimeAndTellsWhatItDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Bus
		s := b.Subscribe(Options{})
		for seq := range uint64(10) {
			b.Publish(record(seq + 1))
		}
		a := account{t: t}
		e, _ := s.Next(t.Context())
		a.take(e)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		b.Close(ctx)
		if d := time.Since(began); d != time.Second {
			t.Errorf("it took %v", d)
		}
		b.Publish(record(11)) // there are no subscribers
		e, _ = s.Next(t.Context())
		a.take(e)
		if a.received != 1 || a.lost != 9 {
			t.Errorf("%d received, %d lost", a.received, a.lost)
		}
		if e, ok := s.Next(t.Context()); ok {
			t.Errorf("then came %+v", e)
		}
		if e, ok := b.Subscribe(Options{}).Next(t.Context()); ok {
			t.Errorf("a closed bus gave %+v", e)
		}
	})
}

func TestASubscriberThatLeavesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Bus
		s := b.Subscribe(Options{})
		var reading sync.WaitGroup
		reading.Go(func() {
			if e, ok := s.Next(t.Context()); ok {
				t.Errorf("got %+v", e)
			}
		})
		synctest.Wait()
		s.Close()
		reading.Wait()
		b.Publish(record(1))
		if len(b.subs) != 0 {
			t.Error("it is still there")
		}
		b.Close(t.Context())
	})
}

func TestTheDataIsTheSubscribersWhenPublishReturns(t *testing.T) {
	var b Bus
	s := b.Subscribe(Options{Want: func(e Event) bool { return e.Seq != 2 }})
	line := []byte("first")
	b.Publish(Event{Kind: Record, Seq: 1, Data: line})
	copy(line, "XXXXX")
	b.Publish(Event{Kind: Record, Seq: 2, Data: line})
	if e, _ := s.Poll(); string(e.Data) != "first" {
		t.Errorf("got %q", e.Data)
	}
	if e, ok := s.Poll(); ok {
		t.Errorf("got %+v, which is not wanted", e)
	}
}
