package console

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAResultThatTakesLongIsMadeOnceBesideTheLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l later[string, int]
		var work sync.WaitGroup
		made := 0
		slow := func(context.Context) (int, error) { time.Sleep(10 * time.Second); made++; return made, nil }
		look := func() found[int] { return l.look(t.Context(), &work, "k", time.Second, slow) }
		began := time.Now()
		if f := look(); !f.Making || !f.Made.IsZero() || time.Since(began) != moment {
			t.Errorf("%+v after %v", f, time.Since(began))
		}
		look()
		work.Wait()
		if f := look(); f.Value != 1 || f.Making || made != 1 {
			t.Errorf("%+v, made %d times", f, made)
		}
		// It took ten seconds, so it counts much longer than one.
		time.Sleep(time.Minute)
		if f := look(); f.Value != 1 || f.Making {
			t.Errorf("%+v", f)
		}
		time.Sleep(leisure * 10 * time.Second)
		if f := look(); f.Value != 1 || !f.Making {
			t.Errorf("the old one is not shown while a new one is made: %+v", f)
		}
		work.Wait()
		l.forget("k")
		look()
		work.Wait()
		if f := look(); f.Value != 3 {
			t.Errorf("%+v", f)
		}
	})
}

func TestResultsAreBoundedAndErrorsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l later[int, int]
		var work sync.WaitGroup
		broken := errors.New("broken")
		for i := range 10 * mostKept {
			if f := l.look(t.Context(), &work, i, time.Second, func(context.Context) (int, error) { return 0, broken }); !errors.Is(f.Err, broken) {
				t.Fatalf("%+v", f)
			}
			work.Wait()
			time.Sleep(time.Millisecond)
		}
		if len(l.kept) > mostKept {
			t.Errorf("%d are kept", len(l.kept))
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if f := l.look(ended, &work, -1, time.Second, func(context.Context) (int, error) { panic("the console has ended") }); f.Making || !f.Made.IsZero() {
			t.Errorf("%+v", f)
		}
	})
}
