package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
)

// journal is a recorder for tests.
type journal struct {
	mu      sync.Mutex
	created []tipstaff.SessionID
	closed  []string // "id reason"
	refuse  error
}

func (j *journal) SessionCreated(s tipstaff.Session) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.refuse != nil {
		return j.refuse
	}
	j.created = append(j.created, s.ID)
	return nil
}

func (j *journal) SessionClosed(s tipstaff.Session, reason string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = append(j.closed, string(s.ID)+" "+reason)
}

func newStore(j *journal) *Store {
	return NewStore(Options{Max: 3, OwnMax: 3, Idle: 30 * time.Minute, Recorder: j})
}

func asked(task string) tipstaff.Session {
	return tipstaff.Session{Origin: tipstaff.Origin{Principal: "me", Task: task, Agent: "agent"}, Dir: "/ws"}
}

func mustCreate(t *testing.T, st *Store, task string) tipstaff.Session {
	t.Helper()
	s, err := st.Create(asked(task))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantCode(t *testing.T, err error, code tipstaff.Code) {
	t.Helper()
	if got := tipstaff.AsError(err).Code; err == nil || got != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

// runs gives a command that ends with the exit code.
func runs(code int) Run {
	return func(_ context.Context, _ tipstaff.Session, started func()) (tipstaff.Result, error) {
		started()
		return tipstaff.Result{Cause: tipstaff.Exited, ExitCode: code}, nil
	}
}

func execute(st *Store, id tipstaff.SessionID, run Run) (tipstaff.Result, error) {
	return st.Execute(context.Background(), "me", id, func() {}, run)
}

func TestB1AnIdNamesTaskAndTimeAndCannotBeGuessed(t *testing.T) {
	st := newStore(&journal{})
	before := time.Now().UnixMilli()
	s := mustCreate(t, st, "BUILD-001")
	parts := strings.Split(string(s.ID), "-")
	if len(parts) != 5 || parts[0] != "term" || parts[1]+"-"+parts[2] != "BUILD-001" {
		t.Fatalf("id %q is not term-<task>-<epoch ms>-<random>", s.ID)
	}
	var ms int64
	if _, err := fmt.Sscan(parts[3], &ms); err != nil || ms < before {
		t.Errorf("id %q carries no time of creation", s.ID)
	}
	if len(parts[4])*5 < 96 { // base32: five bits a character
		t.Errorf("id %q has fewer than 96 random bits", s.ID)
	}
	if s.State != tipstaff.SessionIdle || s.Commands != 0 || s.Created.Location() != time.UTC {
		t.Errorf("a new session stands as %+v", s)
	}
}

func TestB5StateFollowsTheLastCommandThatStarted(t *testing.T) {
	st := newStore(&journal{})
	s := mustCreate(t, st, "T")
	look := func() tipstaff.Session { in, _ := st.Info("me", s.ID); return in }

	_, _ = execute(st, s.ID, func(ctx context.Context, in tipstaff.Session, started func()) (tipstaff.Result, error) {
		if in.State != tipstaff.SessionIdle {
			t.Errorf("before its first command the state is %q", in.State)
		}
		started()
		if now := look(); now.State != tipstaff.SessionRunning || now.Commands != 1 || now.LastCommand.IsZero() {
			t.Errorf("while a command runs the session stands as %+v", now)
		}
		return tipstaff.Result{Cause: tipstaff.Exited}, nil
	})
	if now := look(); now.State != tipstaff.SessionCompleted {
		t.Errorf("after exit 0 the state is %q", now.State)
	}
	_, _ = execute(st, s.ID, runs(3))
	if now := look(); now.State != tipstaff.SessionFailed || now.Commands != 2 {
		t.Errorf("after exit 3 the session stands as %+v", now)
	}
	before := look()
	_, err := execute(st, s.ID, func(context.Context, tipstaff.Session, func()) (tipstaff.Result, error) {
		return tipstaff.Result{}, &tipstaff.Error{Code: tipstaff.CommandNotAllowed}
	})
	wantCode(t, err, tipstaff.CommandNotAllowed)
	if now := look(); now.State != before.State || now.Commands != before.Commands {
		t.Errorf("a refused command changed the session to %+v", now)
	}
}

func TestB6AClosedSessionIsNotFoundAnywhere(t *testing.T) {
	j := &journal{}
	st := newStore(j)
	s := mustCreate(t, st, "T")
	if err := st.Close("me", s.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, st.Close("me", s.ID), tipstaff.SessionNotFound)
	_, err := st.Info("me", s.ID)
	wantCode(t, err, tipstaff.SessionNotFound)
	_, err = execute(st, s.ID, runs(0))
	wantCode(t, err, tipstaff.SessionNotFound)
	if want := []string{string(s.ID) + " closed"}; !slices.Equal(j.closed, want) {
		t.Errorf("recorded %q, want %q", j.closed, want)
	}
}

func TestB6ClosingEndsWhatRunsAndSendsAwayWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(&journal{})
		s := mustCreate(t, st, "T")
		ended := make(chan error, 2)
		go func() {
			_, err := execute(st, s.ID, func(ctx context.Context, _ tipstaff.Session, started func()) (tipstaff.Result, error) {
				started()
				<-ctx.Done()
				time.Sleep(300 * time.Millisecond) // a tree takes time to end
				return tipstaff.Result{Cause: tipstaff.Cancelled}, nil
			})
			ended <- err
		}()
		synctest.Wait()
		go func() {
			_, err := execute(st, s.ID, runs(0))
			ended <- err
		}()
		synctest.Wait()
		if err := st.Close("me", s.ID); err != nil {
			t.Fatal(err)
		}
		first, second := <-ended, <-ended // the waiting one is refused at once
		wantCode(t, first, tipstaff.SessionNotFound)
		if second != nil {
			t.Errorf("the running command gave %v", second)
		}
	})
}

func TestB7CommandsRunOneAtATimeInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(&journal{})
		s := mustCreate(t, st, "T")
		var order []int // guarded by the session: one command at a time
		var all sync.WaitGroup
		for i := range maxWaiting + 1 {
			all.Go(func() {
				_, err := execute(st, s.ID, func(context.Context, tipstaff.Session, func()) (tipstaff.Result, error) {
					order = append(order, i)
					time.Sleep(time.Second)
					return tipstaff.Result{}, nil
				})
				if err != nil {
					t.Errorf("command %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		_, err := execute(st, s.ID, runs(0))
		wantCode(t, err, tipstaff.ExecutionError)
		if err == nil || !strings.Contains(err.Error(), "busy") {
			t.Errorf("the one too many was told %v", err)
		}
		all.Wait()
		if !slices.IsSorted(order) || len(order) != maxWaiting+1 {
			t.Errorf("commands ran in the order %v", order)
		}
	})
}

func TestB7ACancelledCommandLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(&journal{})
		s := mustCreate(t, st, "T")
		release := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			_, _ = execute(st, s.ID, func(context.Context, tipstaff.Session, func()) (tipstaff.Result, error) {
				<-release
				return tipstaff.Result{}, nil
			})
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			_, err := st.Execute(ctx, "me", s.ID, func() {}, func(context.Context, tipstaff.Session, func()) (tipstaff.Result, error) {
				t.Error("a cancelled command ran")
				return tipstaff.Result{}, nil
			})
			wantCode(t, err, tipstaff.ExecutionError)
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(release)
		all.Wait()
		if _, err := execute(st, s.ID, runs(0)); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestB8AnIdleSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		st := newStore(j)
		s := mustCreate(t, st, "T")
		time.Sleep(29 * time.Minute)
		if _, err := st.Info("me", s.ID); err != nil {
			t.Fatalf("after 29 minutes: %v", err)
		}
		time.Sleep(29 * time.Minute) // asking about it has kept it alive
		if _, err := execute(st, s.ID, func(context.Context, tipstaff.Session, func()) (tipstaff.Result, error) {
			time.Sleep(2 * time.Hour) // working is not idling
			return tipstaff.Result{}, nil
		}); err != nil {
			t.Fatalf("after another 29 minutes: %v", err)
		}
		time.Sleep(30*time.Minute + time.Second)
		synctest.Wait()
		_, err := st.Info("me", s.ID)
		wantCode(t, err, tipstaff.SessionNotFound)
		if want := []string{string(s.ID) + " idle"}; !slices.Equal(j.closed, want) {
			t.Errorf("recorded %q, want %q", j.closed, want)
		}
	})
}

func TestB8AnotherPrincipalDoesNotFindTheSession(t *testing.T) {
	st := newStore(&journal{})
	s := mustCreate(t, st, "T")
	_, err := st.Info("somebody", s.ID)
	wantCode(t, err, tipstaff.SessionNotFound)
	wantCode(t, st.Close("somebody", s.ID), tipstaff.SessionNotFound)
	_, err = st.Execute(t.Context(), "somebody", s.ID, func() {}, runs(0))
	wantCode(t, err, tipstaff.SessionNotFound)
	if _, err := st.Info("me", s.ID); err != nil {
		t.Errorf("its owner: %v", err)
	}
}

func TestB12OnlySoManySessionsLiveAtOnce(t *testing.T) {
	st := newStore(&journal{})
	first := mustCreate(t, st, "A")
	mustCreate(t, st, "B")
	mustCreate(t, st, "C")
	_, err := st.Create(asked("D"))
	wantCode(t, err, tipstaff.MaxSessionsExceeded)
	if err := st.Close("me", first.ID); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, st, "D")
}

func TestNobodyTakesMoreThanTheirShareOfSessions(t *testing.T) {
	st := NewStore(Options{Max: 3, OwnMax: 2, Idle: time.Minute, Recorder: &journal{}})
	first := mustCreate(t, st, "A")
	mustCreate(t, st, "B")
	for range 3 {
		_, err := st.Create(asked("C"))
		wantCode(t, err, tipstaff.MaxSessionsExceeded)
		if e := tipstaff.AsError(err); !strings.Contains(e.Msg, "more than 2") || !strings.Contains(e.Hint, "try again") {
			t.Errorf("told %q, %q", e.Msg, e.Hint)
		}
	}
	other := asked("D")
	other.Origin.Principal = "other"
	if _, err := st.Create(other); err != nil {
		t.Errorf("somebody else is kept out: %v", err)
	}
	if _, err := st.Create(other); err == nil {
		t.Error("there are more than all together")
	}
	if err := st.Close("me", first.ID); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, st, "C")
	st.CloseAll("over")
	if len(st.own) != 0 {
		t.Errorf("%v is remembered of nobody's sessions", st.own)
	}
	_, err := NewStore(Options{Max: 3, Recorder: &journal{}}).Create(asked("A"))
	wantCode(t, err, tipstaff.MaxSessionsExceeded)
}

func TestASessionThatCannotBeRecordedDoesNotComeToBe(t *testing.T) {
	j := &journal{refuse: errors.New("disk full")}
	st := newStore(j)
	if _, err := st.Create(asked("A")); err == nil {
		t.Fatal("it was created")
	}
	j.refuse = nil
	for _, task := range []string{"A", "B", "C"} { // and does not count for other principals
		mustCreate(t, st, task)
	}
}

func TestCloseAllEndsSessionsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		st := newStore(j)
		for _, task := range []string{"A", "B", "C"} {
			s := mustCreate(t, st, task)
			go func() {
				_, _ = execute(st, s.ID, func(ctx context.Context, _ tipstaff.Session, started func()) (tipstaff.Result, error) {
					started()
					<-ctx.Done()
					time.Sleep(time.Second)
					return tipstaff.Result{Cause: tipstaff.Cancelled}, nil
				})
			}()
		}
		synctest.Wait()
		before := time.Now()
		st.CloseAll("server ended")
		if took := time.Since(before); took > time.Second {
			t.Errorf("ending three sessions took %v", took)
		}
		if len(j.closed) != 3 {
			t.Errorf("recorded %q", j.closed)
		}
	})
}
