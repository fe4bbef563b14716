package job

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

func TestACallIsAnsweredWhenItsCommandEndsOrItsPatienceDoes(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		began := time.Now()
		c := &command{store: w.outputs, id: "cmd_early", ends: make(chan tipstaff.Result, 1)}
		c.ends <- tipstaff.Result{Cause: tipstaff.Exited, ExitCode: 3, Stdout: tipstaff.Stream{Head: []byte("x")}}
		j, err := w.Start(t.Context(), Command{Owner: me("a"), Run: c.run})
		if err != nil {
			t.Fatal(err)
		}
		r, err, ended := j.Settle(t.Context(), time.Hour)
		if !ended || err != nil || r.ExitCode != 3 || string(r.Stdout.Head) != "x" || time.Since(began) != 0 {
			t.Errorf("early: %+v, %v, %t after %v", r, err, ended, time.Since(began))
		}
		j, c = w.mustStart(me("a"), "")
		if st := j.Status(); st.State != Running {
			t.Errorf("late: %+v", st)
		}
		time.Sleep(time.Minute)
		c.end(4)
		<-j.Done()
		if st := j.Status(); st.State != Exited || st.Result.ExitCode != 4 || st.Age != time.Minute+time.Millisecond {
			t.Errorf("after its end: %+v", st)
		}
	})
}

func TestACallThatIsCancelledBeforeItsAnswerEndsItsCommand(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		c := &command{store: w.outputs, id: "cmd_1", ends: make(chan tipstaff.Result, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		j, err := w.Start(ctx, Command{Owner: me("a"), Run: c.run})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		if r, err, ended := j.Settle(ctx, time.Hour); !ended || err != nil || r.Cause != tipstaff.Cancelled {
			t.Errorf("%+v, %v, %t", r, err, ended)
		}
		// The control: once it is answered, the call's end means nothing.
		ctx, cancel = context.WithCancel(t.Context())
		c = &command{store: w.outputs, id: "cmd_2", ends: make(chan tipstaff.Result, 1)}
		if j, err = w.Start(ctx, Command{Owner: me("a"), Run: c.run}); err != nil {
			t.Fatal(err)
		}
		j.Settle(ctx, time.Second)
		cancel()
		time.Sleep(time.Hour)
		if st := j.Status(); st.State != Running {
			t.Errorf("it ended with its call: %+v", st)
		}
	})
}

func TestWhatNeverBeganIsNotKnownAndTakesNoPlace(t *testing.T) {
	bubble(t, Options{Max: 1, OwnMax: 1, SessionMax: 1}, func(t *testing.T, w *fixture) {
		refusal := errors.New("the policy says no")
		for range 3 {
			j, err := w.Start(t.Context(), Command{Owner: me("a"), Run: func(_ context.Context, live run.Live) (tipstaff.Result, error) {
				live.Name("cmd_refused")
				return tipstaff.Result{}, refusal
			}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err, ended := j.Settle(t.Context(), time.Hour); !ended || !errors.Is(err, refusal) {
				t.Errorf("%v, %t", err, ended)
			}
		}
		_, err := w.Find(me("a"), "cmd_refused")
		wantCode(t, err, tipstaff.CommandNotFound)
	})
}

func TestOnlySoManyRunInTheBackground(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) { // 5, of one principal 3, in a session 2
		first, c := w.mustStart(me("a"), "s")
		w.mustStart(me("a"), "s")
		_, _, err := w.start(me("a"), "s")
		wantCode(t, err, tipstaff.TooManyCommands)
		w.mustStart(me("a"), "other")
		_, _, err = w.start(me("a"), "")
		wantCode(t, err, tipstaff.TooManyCommands)
		w.mustStart(me("b"), "")
		w.mustStart(Owner{"b", "connection"}, "")
		_, _, err = w.start(me("c"), "")
		wantCode(t, err, tipstaff.TooManyCommands)
		c.end(0)
		<-first.Done()
		w.mustStart(me("c"), "")
	})
}

func TestManyAtOnceNeverExceedTheBound(t *testing.T) {
	w := newFixture(t, Options{Max: 8, OwnMax: 8, SessionMax: 8})
	var starting sync.WaitGroup
	var mu sync.Mutex
	began := 0
	for i := range 64 {
		starting.Go(func() {
			c := &command{store: w.outputs, id: tipstaff.RequestID(fmt.Sprintf("cmd_x%d", i)), ends: make(chan tipstaff.Result, 1)}
			j, err := w.Start(t.Context(), Command{Owner: me("a"), Run: c.run})
			if err != nil {
				return
			}
			j.Settle(t.Context(), time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			began++
		})
	}
	starting.Wait()
	if began != 8 {
		t.Errorf("%d began", began)
	}
}

func TestAnIDIsWorthNothingToOthers(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		owner := Owner{"a", "one"}
		j, _ := w.mustStart(owner, "")
		if got, err := w.Find(owner, j.ID()); got != j || err != nil {
			t.Errorf("its owner finds %v, %v", got, err)
		}
		_, never := w.Find(owner, "cmd_never")
		for _, other := range []Owner{{"b", "one"}, {"a", "two"}, {"a", ""}, {}} {
			_, err := w.Find(other, j.ID())
			wantCode(t, err, tipstaff.CommandNotFound)
			theirs, none := tipstaff.AsError(err), tipstaff.AsError(never)
			if theirs.Hint != none.Hint || theirs.Rule != none.Rule || len(theirs.Details) != len(none.Details) {
				t.Errorf("it tells %+v from %+v", theirs, none)
			}
			if list := w.List(other, ""); len(list) != 0 {
				t.Errorf("%v is told of %+v", other, list)
			}
		}
	})
}

// session is a stub for a member of a session.
type session struct {
	over     chan struct{}
	started  int
	left     int
	finished []int
}

func (s *session) Ended() <-chan struct{}     { return s.over }
func (s *session) Cause() error               { return errors.New("closed") }
func (s *session) Started()                   { s.started++ }
func (s *session) Finished(r tipstaff.Result) { s.finished = append(s.finished, r.ExitCode) }
func (s *session) Leave()                     { s.left++ }

func TestACommandEndsWithItsSession(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		m := &session{over: make(chan struct{})}
		c := &command{store: w.outputs, id: "cmd_1", ends: make(chan tipstaff.Result, 1)}
		j, err := w.Start(t.Context(), Command{Owner: me("a"), Session: "s", Member: m, Run: c.run, Origin: tipstaff.Origin{Principal: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		j.Settle(t.Context(), time.Second)
		other, _ := w.mustStart(me("a"), "")
		close(m.over)
		<-j.Done()
		synctest.Wait()
		if st := j.Status(); st.State != Stopped || st.Why != "closed" || m.started != 1 || m.left != 1 || len(m.finished) != 1 {
			t.Errorf("%+v, %+v", st, m)
		}
		if other.Status().State != Running || len(w.journal.lines) != 1 || w.journal.lines[0] != "a stops cmd_1 closed" {
			t.Errorf("%v, %q", other.Status(), w.journal.lines)
		}
	})
}

func TestCommandsEndWithTheirConnectionAndTheirServer(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		one, _ := w.mustStart(Owner{"a", "one"}, "")
		two, _ := w.mustStart(Owner{"a", "two"}, "")
		w.EndOf("one", ErrDisconnected)
		if one.Status().State != Stopped || two.Status().State != Running {
			t.Errorf("%+v, %+v", one.Status(), two.Status())
		}
		w.EndAll(errors.New("SIGTERM"))
		if two.Status().Why != "SIGTERM" {
			t.Errorf("%+v", two.Status())
		}
		_, _, err := w.start(me("a"), "")
		wantCode(t, err, tipstaff.ExecutionError)
	})
}

func TestCommandsEndWhenTheirPrincipalIsIdle(t *testing.T) {
	bubble(t, Options{Idle: time.Hour}, func(t *testing.T, w *fixture) {
		over := w.Call(me("a"))
		a, _ := w.mustStart(me("a"), "")
		over()
		local, _ := w.mustStart(Owner{"a", "connection"}, "")
		time.Sleep(59 * time.Minute)
		over = w.Call(me("a"))
		time.Sleep(3 * time.Hour) // a call that waits
		over()
		time.Sleep(59 * time.Minute)
		if st := a.Status(); st.State != Running {
			t.Errorf("too early: %+v", st)
		}
		time.Sleep(2 * time.Minute)
		if st := a.Status(); st.State != Stopped || local.Status().State != Running {
			t.Errorf("%+v, %+v", st, local.Status())
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.callers) != 0 {
			t.Errorf("it remembers %v", w.callers)
		}
	})
}

func TestInputIsRecordedFirstAndWaitsForNobodyLonger(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		j, c := w.mustStart(me("a"), "")
		by := tipstaff.Request{ID: j.ID(), Origin: tipstaff.Origin{Principal: "a"}}
		if n, err := j.Input(t.Context(), by, []byte("hello\n"), true); n != 6 || err != nil || c.typed != "hello\n" {
			t.Errorf("%d, %v, typed %q", n, err, c.typed)
		}
		if len(w.journal.lines) != 1 || w.journal.lines[0] != `a gives "hello\n" true` {
			t.Errorf("recorded %q", w.journal.lines)
		}
		w.journal.refuse = &tipstaff.Error{Code: tipstaff.NotRecorded}
		_, err := j.Input(t.Context(), by, []byte("unseen"), false)
		wantCode(t, err, tipstaff.NotRecorded)
		if c.typed != "hello\n" {
			t.Errorf("no record, and yet it got %q", c.typed)
		}
		w.journal.refuse, c.slow = nil, true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if n, err := j.Input(ctx, by, []byte("x"), false); n != 0 || err != nil || time.Since(began) != time.Second {
			t.Errorf("%d, %v after %v", n, err, time.Since(began))
		}
		wantCode(t, j.Resize(tipstaff.TerminalSize{Rows: 1, Columns: 1}), tipstaff.InvalidParameters)
		c.end(0)
		<-j.Done()
		_, err = j.Input(t.Context(), by, []byte("late"), false)
		wantCode(t, err, tipstaff.CommandNotRunning)
	})
}

func TestStopIsRecordedWithWhoAsked(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		j, c := w.mustStart(me("a"), "")
		by := tipstaff.Request{ID: j.ID(), Origin: tipstaff.Origin{Principal: "a"}}
		if err := j.Stop(by, syscall.SIGINT, "SIGINT"); err != nil || j.Status().State != Running {
			t.Errorf("%v, %+v", err, j.Status())
		}
		w.journal.refuse = errors.New("the disk is full") // a command must not live on because of that
		if err := j.Stop(by, syscall.SIGTERM, "SIGTERM"); err != nil {
			t.Error(err)
		}
		<-j.Done()
		if st := j.Status(); st.State != Stopped || st.Why != "stop_command" || len(c.signals) != 2 {
			t.Errorf("%+v, %v", st, c.signals)
		}
		wantCode(t, j.Stop(by, syscall.SIGTERM, "SIGTERM"), tipstaff.CommandNotRunning)
		if len(w.journal.lines) != 2 || w.journal.lines[1] != "a stops cmd_1 SIGTERM" {
			t.Errorf("recorded %q", w.journal.lines)
		}
	})
}

func TestEndedCommandsAreKnownForAWhileAndNotTooMany(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		note := func(i int) {
			_, live, ended := w.Foreground(t.Context(), Command{Owner: me("a"), Session: "s", Line: fmt.Sprintf("command %d", i)})
			live.Named(tipstaff.RequestID(fmt.Sprintf("cmd_n%d", i)))
			_, _ = ended(tipstaff.Result{Cause: tipstaff.Exited, ExitCode: i % 256, Stdout: tipstaff.Stream{Head: make([]byte, 1000)}}, nil)
		}
		for i := range maxEnded + 10 {
			note(i)
		}
		_, err := w.Find(me("a"), "cmd_n9")
		wantCode(t, err, tipstaff.CommandNotFound)
		j, err := w.Find(me("a"), "cmd_n10")
		if err != nil || j.Status().Result.ExitCode != 10 || len(j.result.Stdout.Head) != 0 {
			t.Errorf("%+v, %v", j, err)
		}
		w.mustStart(me("a"), "s")
		list := w.List(me("a"), "s")
		if len(list) != 1+maxListed || list[0].State != Running || list[1].Line != fmt.Sprintf("command %d", maxEnded+9) {
			t.Errorf("%d listed, the first %+v", len(list), list[:2])
		}
		time.Sleep(endedTTL + time.Second)
		note(9999)
		if len(w.ended) != 1 || len(w.jobs) != 2 {
			t.Errorf("%d ended, %d known", len(w.ended), len(w.jobs))
		}
	})
}

func TestCommandsOfCallsThatWaitTakeNoInput(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		_, live, ended := w.Foreground(t.Context(), Command{Owner: me("a"), Line: "sleep"})
		live.Named("cmd_f")
		j, err := w.Find(me("a"), "cmd_f")
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.Input(t.Context(), tipstaff.Request{}, []byte("x"), false)
		wantCode(t, err, tipstaff.CommandNotRunning)
		wantCode(t, j.Stop(tipstaff.Request{}, syscall.SIGTERM, "SIGTERM"), tipstaff.CommandNotRunning)
		_, _ = ended(tipstaff.Result{}, nil)
		if len(w.journal.lines) != 0 {
			t.Errorf("recorded %q", w.journal.lines)
		}
	})
}

func TestAPersonIsNotAskedThroughACallThatWasAnswered(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		asked := 0
		live := run.Live{Asker: run.Asker{Ask: func(context.Context, policy.Question) (policy.Answer, error) {
			asked++
			return policy.Answer{Choice: policy.Once}, nil
		}}}
		ask := make(chan error)
		j, err := w.Start(t.Context(), Command{Owner: me("a"), Live: live, Run: func(ctx context.Context, live run.Live) (tipstaff.Result, error) {
			live.Name("cmd_1")
			_, _ = live.Ask(ctx, policy.Question{})
			live.Started()
			<-ctx.Done()
			_, err := live.Ask(context.WithoutCancel(ctx), policy.Question{})
			ask <- err
			return tipstaff.Result{Cause: tipstaff.Cancelled}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		j.Settle(t.Context(), time.Second)
		go w.EndAll(errors.New("over"))
		if err := <-ask; !errors.Is(err, errAnswered) || asked != 1 {
			t.Errorf("%v, asked %d times", err, asked)
		}
	})
}

func TestAPanicIsAnErrorOfItsCommandAlone(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		j, err := w.Start(t.Context(), Command{Owner: me("a"), Run: func(_ context.Context, live run.Live) (tipstaff.Result, error) {
			live.Name("cmd_1")
			live.Started()
			panic("secret detail")
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err, ended := j.Settle(t.Context(), time.Hour)
		wantCode(t, err, tipstaff.Internal)
		if !ended || len(w.running) != 0 {
			t.Errorf("ended %t, %d run", ended, len(w.running))
		}
	})
}

// TestAThousandWaitersCostLittle: under 8 kB each, and nothing while nothing happens.
func TestAThousandWaitersCostLittle(t *testing.T) {
	w := newFixture(t, Options{})
	j, c := w.mustStart(me("a"), "")
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	const waiters = 1000
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	before := memory()
	var waiting sync.WaitGroup
	ready := make(chan struct{}, waiters)
	for i := range waiters {
		u := []Until{{}, {Output: true}, {Match: regexp.MustCompile("never")}}[i%3]
		waiting.Go(func() {
			ready <- struct{}{}
			if _, err := j.Wait(ctx, u); err != nil {
				t.Error(err)
			}
		})
	}
	for range waiters {
		<-ready
	}
	for range 100 {
		runtime.Gosched()
	}
	each := int64(memory()-before) / waiters
	t.Logf("%d bytes for each", each)
	if each > 8<<10 {
		t.Errorf("%d bytes for each", each)
	}
	c.end(0)
	waiting.Wait()
}
