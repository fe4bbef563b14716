package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// journal records the steps of Execute, in order.
type journal struct {
	mu     sync.Mutex
	steps  []string
	last   audit.Record
	broken error
}

func (j *journal) step(s string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.steps = append(j.steps, s)
}

func (j *journal) Append(r audit.Record) error {
	if j.broken != nil {
		return j.broken
	}
	j.step(string(r.Event))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = r
	return nil
}

func (j *journal) Run(_ context.Context, g *policy.Grant, live run.Live) (tipstaff.Result, error) {
	j.step("run " + strings.Join(g.Argv(), " "))
	if g.Argv()[1] == "cannot-start" {
		return tipstaff.Result{}, &tipstaff.Error{Code: tipstaff.ProgramNotExecutable, Msg: "It cannot be started."}
	}
	return tipstaff.Result{Cause: tipstaff.Exited, ExitCode: 3, Duration: time.Second}, nil
}

// machine is a machine with one program and one directory.
type machine struct{}

func (machine) Lookup(name string) (policy.Program, error) {
	return policy.Program{Path: "/bin/" + name, File: policy.FileID{Dev: 1, Ino: 1}}, nil
}
func (w machine) File(path string, _ policy.Directory) (policy.Program, error) { return w.Lookup(path) }
func (machine) Directory(string) (policy.Directory, error)                     { return dir{}, nil }
func (machine) Roots() ([]string, error)                                       { return nil, nil }
func (machine) Allowlist(tipstaff.Family) policy.Allowlist {
	return policy.ParseAllowlist("echo", "ALLOWED_COMMANDS")
}

type dir struct{}

func (dir) Path() string { return "/ws" }
func (dir) Fd() uintptr  { return 0 }
func (dir) Close() error { return nil }

func newMonitor(j *journal) *Monitor {
	return &Monitor{
		Policy: policy.New(settings()),
		World:  machine{}, Trail: j, Runner: j, Log: slog.New(slog.DiscardHandler),
	}
}

// settings are those of a server, with rules of the test's own.
func settings(rules ...policy.Rule) policy.Settings {
	return policy.Settings{
		Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: time.Second, OutputBytes: 1000}},
		Environment: policy.NewEnvironment(nil, "/bin"),
		More:        rules,
	}
}

func ask(argv ...string) tipstaff.Request {
	return tipstaff.Request{Family: tipstaff.Execute, Tool: "execute_process", Argv: argv, Origin: tipstaff.Origin{Principal: "me"}}
}

func (j *journal) want(t *testing.T, steps ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if got, want := strings.Join(j.steps, ", "), strings.Join(steps, ", "); got != want {
		t.Errorf("the road went\n  %s\nwant\n  %s", got, want)
	}
}

func TestTheRoadIsDecideRecordRunRecord(t *testing.T) {
	j := &journal{}
	r, err := newMonitor(j).Execute(t.Context(), ask("echo", "hi"), run.Live{})
	if err != nil || r.ExitCode != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	j.want(t, "command.start", "run echo hi", "command.end")
	if rec := j.last; rec.Result == nil || rec.Result.ExitCode != 3 || rec.Result.DurationMS != 1000 || rec.What.File != "/bin/echo" || rec.What.Cwd != "/ws" ||
		rec.Decision.Action != "allow" || rec.Who.Principal != "me" || !strings.HasPrefix(string(rec.Trace.CommandID), "cmd_") {
		t.Errorf("the outcome is recorded as %+v", rec)
	}
}

func TestARefusalIsRecordedAndNothingRuns(t *testing.T) {
	j := &journal{}
	_, err := newMonitor(j).Execute(t.Context(), ask("rm", "x"), run.Live{})
	if tipstaff.AsError(err).Code != tipstaff.CommandNotAllowed {
		t.Errorf("the caller was told %v", err)
	}
	j.want(t, "command.refused")
	if rec := j.last; rec.Code != tipstaff.CommandNotAllowed || rec.Decision.Action != "deny" || rec.Why == "" || len(rec.What.Argv) != 2 {
		t.Errorf("the refusal is recorded as %+v", rec)
	}
}

func TestATrailThatAsksForMoreThanItsDiskSaysWhy(t *testing.T) {
	why := &tipstaff.Error{Code: tipstaff.NotRecorded, Msg: "The copy was not acknowledged."}
	j := &journal{broken: fmt.Errorf("cannot record: %w", why)}
	_, err := newMonitor(j).Execute(t.Context(), ask("echo", "hi"), run.Live{})
	if e := tipstaff.AsError(err); e.Code != tipstaff.NotRecorded || e.Msg != why.Msg {
		t.Errorf("the caller was told %q", e.Msg)
	}
	j.want(t)
}

func TestNoRecordNoRun(t *testing.T) {
	j := &journal{broken: errors.New("no space left on device: /state/audit")}
	m := newMonitor(j)
	_, err := m.Execute(t.Context(), ask("echo", "hi"), run.Live{})
	e := tipstaff.AsError(err)
	if e.Code != tipstaff.NotRecorded || strings.Contains(e.Msg+e.Hint, "/state") {
		t.Errorf("the caller was told %q %q", e.Msg, e.Hint)
	}
	j.want(t)
	if err := m.SessionCreated(tipstaff.Session{}); tipstaff.AsError(err).Code != tipstaff.NotRecorded {
		t.Errorf("a session came to be: %v", err)
	}
	if _, err := m.Execute(t.Context(), ask("rm"), run.Live{}); tipstaff.AsError(err).Code != tipstaff.CommandNotAllowed {
		t.Errorf("a refusal that cannot be recorded became %v", err)
	}
	j.broken = nil // there is room again
	if _, err := m.Execute(t.Context(), ask("echo", "hi"), run.Live{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAProgramThatCannotStartIsRecordedAsSuch(t *testing.T) {
	j := &journal{}
	_, err := newMonitor(j).Execute(t.Context(), ask("echo", "cannot-start"), run.Live{})
	if tipstaff.AsError(err).Code != tipstaff.ProgramNotExecutable {
		t.Errorf("the caller was told %v", err)
	}
	j.want(t, "command.start", "run echo cannot-start", "command.error")
	if j.last.Code != tipstaff.ProgramNotExecutable {
		t.Errorf("recorded as %+v", j.last)
	}
}

func TestExplainTouchesNothing(t *testing.T) {
	j := &journal{}
	d := newMonitor(j).Explain(ask("rm"))
	if d.Effect != policy.Deny {
		t.Errorf("it would %v", d.Effect)
	}
	j.want(t)
}
