package job

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
)

var ann = tipstaff.Person{Name: "ann", UID: 7}

func TestAPersonEndsACommandThatACallWaitsFor(t *testing.T) {
	for say, c := range map[string]struct {
		kill bool
		want syscall.Signal
	}{"stop": {false, syscall.SIGTERM}, "kill": {true, syscall.SIGKILL}} {
		t.Run(say, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, w *fixture) {
				one := &command{store: w.outputs, id: "cmd_1", ends: make(chan tipstaff.Result, 1)}
				ctx, live, ended := w.Foreground(t.Context(), Command{Owner: me("a"), Line: "sleep 9", Origin: tipstaff.Origin{Principal: "a", Agent: "x"}, Tool: "execute_command"})
				told := make(chan tipstaff.Result, 1)
				go func() {
					r, err := one.run(ctx, live)
					r, err = ended(r, err)
					if err != nil {
						t.Error(err)
					}
					told <- r
				}()
				synctest.Wait()
				all := w.Running()
				if len(all) != 1 || all[0].Waits() || all[0].Origin().Agent != "x" || all[0].Tool() != "execute_command" {
					t.Fatalf("%+v", all)
				}
				if _, err := w.Find(me("a"), "cmd_1"); err != nil {
					t.Error(err)
				}
				if load, known := all[0].Load(true); !known || load.Processes != 1 {
					t.Errorf("%+v %t", load, known)
				}
				if !all[0].StopBy(ann, c.kill, "stopped it") || all[0].StopBy(ann, false, "stopped it") {
					t.Error("it is ended once")
				}
				r := <-told
				if !r.ByPerson || r.Cause != tipstaff.Stopped || !slices.Equal(one.signals, []syscall.Signal{c.want}) {
					t.Errorf("%+v %v", r, one.signals)
				}
				if st := all[0].Status(); st.State != Stopped || st.Why != "a person has stopped it" {
					t.Errorf("%+v", st)
				}
				if len(w.journal.lines) != 1 || !strings.Contains(w.journal.lines[0], "by ann: a person has stopped it") {
					t.Errorf("%q", w.journal.lines)
				}
				if all[0].StopBy(ann, true, "stopped it") || len(w.Running()) != 0 {
					t.Error("what has ended is ended again")
				}
			})
		})
	}
}

func TestAPersonEndsACommandBeforeItBegins(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		ctx, live, ended := w.Foreground(t.Context(), Command{Owner: me("a"), Line: "push"})
		live.Named("cmd_1")
		j, _ := w.Any("cmd_1")
		if !j.Waits() || !j.StopBy(ann, false, "stopped it") || context.Cause(ctx) == nil {
			t.Fatal("it waits on")
		}
		_, err := ended(tipstaff.Result{}, &tipstaff.Error{Code: tipstaff.ExecutionError, Rule: "cancelled", Err: context.Cause(ctx)})
		e := tipstaff.AsError(err)
		if e.Rule != "stopped" || !strings.Contains(e.Msg, "A person has stopped this command before it began") {
			t.Errorf("%+v", e)
		}
	})
}

// TestAStopThatComesWhileACommandBeginsIsHeeded: between its name and its controls.
func TestAStopThatComesWhileACommandBeginsIsHeeded(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		one := &command{store: w.outputs, id: "cmd_1", ends: make(chan tipstaff.Result, 1)}
		_, live, ended := w.Foreground(t.Context(), Command{Owner: me("a"), Line: "push"})
		live.Named("cmd_1")
		j, _ := w.Any("cmd_1")
		j.StopBy(ann, false, "stopped it")
		live.Controls(one)
		if !slices.Equal(one.signals, []syscall.Signal{syscall.SIGTERM}) {
			t.Errorf("%v", one.signals)
		}
		if r, err := ended(<-one.ends, nil); err != nil || !r.ByPerson {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestWhatWasRefusedStaysRefusedForItsReason(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		_, live, ended := w.Foreground(t.Context(), Command{Owner: me("a"), Line: "push"})
		live.Named("cmd_1")
		j, _ := w.Any("cmd_1")
		j.StopBy(ann, false, "stopped it")
		no := &tipstaff.Error{Code: tipstaff.CommandNotAllowed, Rule: "allowlist"}
		if _, err := ended(tipstaff.Result{}, no); !errors.Is(err, no) {
			t.Error(err)
		}
	})
}

func TestALookCostsOnceASecond(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		one := &command{store: w.outputs, id: "cmd_1", ends: make(chan tipstaff.Result, 1)}
		ctx, live, _ := w.Foreground(t.Context(), Command{Owner: me("a"), Line: "x"})
		go func() { _, _ = one.run(ctx, live) }()
		synctest.Wait()
		j, _ := w.Any("cmd_1")
		hide := func(s string) string { return s }
		one.say("one\n\n")
		if got := j.LastLine(hide, false); got != "" {
			t.Errorf("found out without a look: %q", got)
		}
		if got := j.LastLine(hide, true); got != "one" {
			t.Errorf("%q", got)
		}
		one.say("\x1b[1mtwo\u202e\n")
		if got := j.LastLine(hide, true); got != "one" {
			t.Errorf("again in the same second: %q", got)
		}
		time.Sleep(lookEvery)
		if got := j.LastLine(hide, true); !strings.HasPrefix(got, "two") || strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("%q", got)
		}
		one.end(0)
	})
}
