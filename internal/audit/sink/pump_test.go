package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff/internal/audit/events"
)

// script is a sink that does what a test wants.
type script struct {
	send   func(ctx context.Context, batch []Message) (int, error)
	limits BatchLimits
}

func (*script) Name() string          { return "script" }
func (s *script) Limits() BatchLimits { return s.limits }
func (*script) Close() error          { return nil }
func (s *script) Send(ctx context.Context, batch []Message) (int, error) {
	return s.send(ctx, batch)
}

func publish(b *events.Bus, from, to uint64) {
	for seq := from; seq <= to; seq++ {
		b.Publish(events.Event{Kind: events.Record, Trail: "t", Seq: seq, Data: fmt.Appendf(nil, `{"seq":%d}`, seq)})
	}
}

func TestTheOneRecordThatAPeerRefusesIsFoundAndToldToItAsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b events.Bus
		var got []string
		s := &script{limits: BatchLimits{Count: 100, Bytes: 1 << 20, Wait: time.Second}, send: func(_ context.Context, batch []Message) (int, error) {
			for _, m := range batch {
				if m.Seq == 7 {
					return 0, fmt.Errorf("%w: I do not want seven", errRefused)
				}
			}
			for _, m := range batch {
				got = append(got, string(m.Body))
			}
			return len(batch), nil
		}}
		set := Start(&b, []Sink{s}, slog.New(slog.DiscardHandler))
		publish(&b, 1, 20)
		set.Close()
		if len(got) != 20 || !strings.Contains(got[6], "lost 1 records, from seq 7 to 7") || got[5] != `{"seq":6}` || got[7] != `{"seq":8}` {
			t.Errorf("got %q", got)
		}
	})
}

func TestAPeerThatIsAwayIsTriedMoreAndMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b events.Bus
		var log strings.Builder
		attempts := 0
		s := &script{limits: BatchLimits{Count: 10, Bytes: 1 << 20, Wait: time.Second}, send: func(context.Context, []Message) (int, error) {
			attempts++
			return 0, errors.New("away")
		}}
		set := Start(&b, []Sink{s}, slog.New(slog.NewTextHandler(&log, nil)))
		publish(&b, 1, 3)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if attempts < 20 || attempts > 60 {
			t.Errorf("%d attempts in ten minutes", attempts)
		}
		if n := strings.Count(log.String(), "cannot deliver"); n < 5 || n > 11 {
			t.Errorf("logged %d times in ten minutes:\n%s", n, log.String())
		}
		began := time.Now()
		set.Close()
		if d := time.Since(began); d > drainTime+graceTime {
			t.Errorf("the end took %v", d)
		}
		if !strings.Contains(log.String(), "records=3 from_seq=1 to_seq=3") {
			t.Errorf("the end was not told:\n%s", log.String())
		}
	})
}

func TestManySinksThatHangHoldUpTheEndTogetherNotEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b events.Bus
		release := make(chan struct{})
		var sinks []Sink
		for range 10 {
			sinks = append(sinks, &script{limits: BatchLimits{Count: 10, Bytes: 1 << 20}, send: func(context.Context, []Message) (int, error) {
				<-release // even if ctx is done
				return 0, errors.New("released")
			}})
		}
		set := Start(&b, sinks, slog.New(slog.DiscardHandler))
		publish(&b, 1, 100)
		began := time.Now()
		set.Close()
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("the end took %v", d)
		}
		close(release)
	})
}

func TestAPeerMaySayWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b events.Bus
		var at []time.Time
		s := &script{limits: BatchLimits{Count: 10, Bytes: 1 << 20}, send: func(_ context.Context, batch []Message) (int, error) {
			if at = append(at, time.Now()); len(at) == 1 {
				return 0, pauseError{errors.New("not now"), 20 * time.Second}
			}
			return len(batch), nil
		}}
		set := Start(&b, []Sink{s}, slog.New(slog.DiscardHandler))
		publish(&b, 1, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		set.Close()
		if len(at) != 2 || at[1].Sub(at[0]) != 20*time.Second {
			t.Errorf("tried at %v", at)
		}
	})
}
