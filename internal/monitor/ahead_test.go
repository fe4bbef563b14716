package monitor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/command/scan"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/run"
)

// scripted runs a script by asking for the commands of a list, as internal/script does.
type scripted struct {
	*journal
	monitor  *Monitor
	commands [][]string
}

func (s *scripted) Run(ctx context.Context, g *policy.Grant, live run.Live) (tipstaff.Result, error) {
	if _, is := g.Script(); !is {
		return s.journal.Run(ctx, g, live)
	}
	s.step("script")
	parsed, err := scan.Parse(g.Request().Script)
	if err != nil {
		return tipstaff.Result{}, err
	}
	places := parsed.Analyze(scan.ShellState{}).Commands
	for i, words := range s.commands {
		sum := sha256.Sum256([]byte(g.Request().Script))
		place := policy.Statement{Script: hex.EncodeToString(sum[:])}
		place.Statement, _, _ = parsed.Statement(places[i].Line, places[i].Column)
		place.Input = policy.ScriptInput(g.Request())
		req := policy.WithinScript(g.Request(), words)
		req.Timeout = g.Timeout()
		_, _ = s.monitor.Execute(ctx, req, run.Live{
			Asker:    run.Asker{Ask: live.Ask, Approved: live.Approved},
			InScript: run.InScript{Statement: func() (policy.Statement, error) { return place, nil }},
		})
	}
	return tipstaff.Result{Cause: tipstaff.Exited}, nil
}

func newScripted(j *journal, commands ...[]string) *scripted {
	m, _ := newAskingMonitor(j, true)
	with := settings(leftToPeople{})
	with.Shell = policy.ShellSetting{Mode: language.ShellWrite, Set: true}
	m.Policy = policy.New(with)
	s := &scripted{j, m, commands}
	m.Runner = s
	return s
}

func askScript(text string) tipstaff.Request {
	req := ask()
	req.Argv, req.Script = nil, text
	return req
}

// TestAPersonIsAskedBeforeAScriptBegins, for each position of the command.
func TestAPersonIsAskedBeforeAScriptBegins(t *testing.T) {
	j := &journal{}
	s := newScripted(j, []string{"/bin/echo", "a"}, []string{"/bin/echo", "push"}, []string{"/bin/echo", "push"})
	live := run.Live{Asker: run.Asker{Ask: func(context.Context, policy.Question) (policy.Answer, error) {
		j.step("answer")
		return policy.Answer{Choice: policy.Once, By: "ann"}, nil
	}}}
	if _, err := s.monitor.Execute(t.Context(), askScript("/bin/echo a; /bin/echo push; /bin/echo push"), live); err != nil {
		t.Fatal(err)
	}
	j.want(t, "command.asked", "answer", "command.asked", "answer", "command.start", "script", "command.start", "run /bin/echo a", "command.end",
		"command.start", "run /bin/echo push", "command.end", "command.start", "run /bin/echo push", "command.end", "command.end")
}

func TestAScriptDoesNotBeginWhereAPersonRefuses(t *testing.T) {
	j := &journal{}
	s := newScripted(j)
	_, err := s.monitor.Execute(t.Context(), askScript("true\n/bin/echo push"), says(policy.Answer{Comment: "not now"}))
	if e := tipstaff.AsError(err); e.Code != tipstaff.ApprovalDenied || !strings.Contains(e.Msg, "line 2, column 1") {
		t.Errorf("told %v", err)
	}
	j.want(t, "command.asked", "command.refused")
}

// TestAllHandlesAreToldAtOnce: the same call finds the answers.
func TestAllHandlesAreToldAtOnce(t *testing.T) {
	j := &journal{}
	s := newScripted(j, []string{"/bin/echo", "push"})
	_, err := s.monitor.Execute(t.Context(), askScript("/bin/echo push\n/bin/echo push b"), run.Live{})
	e := tipstaff.AsError(err)
	store := s.monitor.Approver.(*approval.Store) //nolint:forcetypeassert // made above
	open := store.List()
	if e.Code != tipstaff.ApprovalRequired || len(open) != 2 {
		t.Fatalf("told %v, open %+v", err, open)
	}
	for _, one := range open {
		if !strings.Contains(e.Msg+e.Hint, one.Handle) {
			t.Errorf("%s is not told: %s\n%s", one.Handle, e.Msg, e.Hint)
		}
		if _, err := store.Answer(one.Handle, "", policy.Answer{Choice: policy.Once, By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.monitor.Execute(t.Context(), askScript("/bin/echo push\n/bin/echo push b"), run.Live{}); err != nil {
		t.Error(err)
	}
}
