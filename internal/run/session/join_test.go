package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
)

func TestTheEndOfASessionWaitsForWhatHasJoinedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(&journal{})
		s := mustCreate(t, st, "T")
		_, err := st.Join("you", s.ID)
		wantCode(t, err, tipstaff.SessionNotFound)
		m, err := st.Join("me", s.ID)
		if err != nil {
			t.Fatal(err)
		}
		m.Started()
		left := false
		go func() {
			<-m.Ended()
			time.Sleep(time.Second)
			left = true
			m.Leave()
		}()
		if err := st.Close("me", s.ID); err != nil || !left || m.Cause() == nil || m.Cause().Error() != "closed" {
			t.Errorf("%v, left %t, because %v", err, left, m.Cause())
		}
		_, err = st.Join("me", s.ID)
		wantCode(t, err, tipstaff.SessionNotFound)
	})
}

func TestWhatHasJoinedASessionTakesNoTurnAndKeepsItFromNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(&journal{})
		s := mustCreate(t, st, "T")
		m, err := st.Join("me", s.ID)
		if err != nil {
			t.Fatal(err)
		}
		m.Started()
		go func() { <-m.Ended(); m.Leave() }()
		if _, err := execute(st, s.ID, runs(0)); err != nil {
			t.Error(err)
		}
		m.Finished(tipstaff.Result{Cause: tipstaff.Exited, ExitCode: 1})
		if in, _ := st.Info("me", s.ID); in.Commands != 2 || in.State != tipstaff.SessionCompleted {
			t.Errorf("it stands as %+v", in)
		}
		time.Sleep(31 * time.Minute) // nobody uses it, though a command runs in it
		if _, err := st.Info("me", s.ID); err == nil {
			t.Error("an idle session lives on because of a command in the background")
		}
	})
}

func TestACommandThatGoesOnWithoutItsTurnSaysHowItEndsUnlessAnotherHasBegun(t *testing.T) {
	st := newStore(&journal{})
	s := mustCreate(t, st, "T")
	goesOn := func() *TurnMember {
		var m *TurnMember
		_, err := execute(st, s.ID, func(_ context.Context, _ tipstaff.Session, started func()) (tipstaff.Result, error) {
			joined, err := st.Join("me", s.ID)
			if err != nil {
				t.Fatal(err)
			}
			m = joined.InTurn()
			started()
			m.Started()
			return tipstaff.Result{}, ErrWentOn
		})
		wantErr(t, err)
		return m
	}
	state := func() tipstaff.SessionState { in, _ := st.Info("me", s.ID); return in.State }
	m := goesOn()
	if got := state(); got != tipstaff.SessionRunning {
		t.Errorf("while it goes on: %s", got)
	}
	m.Finished(tipstaff.Result{Cause: tipstaff.Exited, ExitCode: 1})
	if got := state(); got != tipstaff.SessionFailed {
		t.Errorf("after its end: %s", got)
	}
	m.Leave()
	m = goesOn()
	_, _ = execute(st, s.ID, runs(0))
	m.Finished(tipstaff.Result{Cause: tipstaff.Exited, ExitCode: 1})
	if got := state(); got != tipstaff.SessionCompleted {
		t.Errorf("after another one: %s", got)
	}
	m.Leave()
	st.CloseAll("the test is over")
}

func wantErr(t *testing.T, err error) {
	t.Helper()
	if err != ErrWentOn { //nolint:errorlint // it is returned as it is
		t.Errorf("got %v", err)
	}
}
