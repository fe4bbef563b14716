package hook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/policy"
)

// fakeMonitor judges every line as whole says, and keeps what it is told.
type fakeMonitor struct {
	whole    policy.ScriptDecision
	err      error
	asked    tipstaff.Request
	reported []audit.Reported
}

func (r *fakeMonitor) Judge(_ context.Context, req tipstaff.Request, narrow func(*policy.ScriptDecision)) (policy.ScriptDecision, error) {
	r.asked = req
	w := r.whole
	narrow(&w)
	return w, r.err
}

func (r *fakeMonitor) Report(req tipstaff.Request, said audit.Reported) error {
	r.asked, r.reported = req, append(r.reported, said)
	return r.err
}

func question(t *testing.T, text string) Asked {
	t.Helper()
	a, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const base = `{"session_id": "s", "cwd": "/", "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls", "timeout": 5000}}`

func TestAnAnswerIsWhatThePolicySays(t *testing.T) {
	refused := policy.ScriptDecision{Findings: []policy.Finding{{Rule: "r", Effect: policy.Deny, Msg: "no", Hint: "Do this."}}}
	asks := policy.ScriptDecision{Findings: []policy.Finding{{Rule: "r", Effect: policy.Ask, Msg: "perhaps"}}}
	elsewhere := policy.ScriptDecision{Programs: map[string]string{"ls": "/nowhere/ls"}}
	outside := policy.ScriptDecision{Outside: []policy.NamedPath{{Path: "/etc"}}}
	for _, c := range []struct {
		says     string
		whole    policy.ScriptDecision
		question string
		want     string
	}{
		{"an allowed line", policy.ScriptDecision{}, base, "allow"},
		{"a refused one", refused, base, "deny"},
		{"one for a person", asks, base, "ask"},
		{"one for a person where none is asked", asks, strings.Replace(base, "default", "bypassPermissions", 1), "deny"},
		{"a mode that is not known", asks, strings.Replace(base, "default", "new", 1), "deny"},
		{"no mode", asks, strings.Replace(base, `"permission_mode": "default", `, "", 1), "deny"},
		{"an allowed line in any mode", policy.ScriptDecision{}, strings.Replace(base, "default", "bypassPermissions", 1), "allow"},
		{"a program that the client finds elsewhere", elsewhere, base, "ask"},
		{"another tool", policy.ScriptDecision{}, strings.Replace(base, "Bash", "Task", 1), "deny"},
		{"PowerShell", policy.ScriptDecision{}, strings.Replace(base, "Bash", "PowerShell", 1), "deny"},
		{"a directory that is not told", policy.ScriptDecision{}, strings.Replace(base, `"/"`, `""`, 1), "deny"},
		{"no command", policy.ScriptDecision{}, strings.Replace(base, `"ls"`, `""`, 1), "deny"},
		{"the client's sandbox switched off", policy.ScriptDecision{}, strings.Replace(base, `"ls"`, `"ls", "dangerouslyDisableSandbox": true`, 1), "ask"},
		{"a path outside of the project", outside, strings.Replace(base, `"cwd": "/"`, `"cwd": "/usr"`, 1), "ask"},
		{"the same path inside", outside, base, "allow"},
	} {
		r := &fakeMonitor{whole: c.whole}
		h := &Hook{Monitor: r, Client: "claude-code"}
		if got := h.Decide(t.Context(), question(t, c.question)); got.Decision != c.want || got.Event != "PreToolUse" || got.Reason == "" {
			t.Errorf("%s: %+v, want %s", c.says, got, c.want)
		}
	}
}

func TestWithoutARecordNothingRuns(t *testing.T) {
	h := &Hook{Monitor: &fakeMonitor{err: errors.New("the disk is full")}, Client: "claude-code"}
	if got := h.Decide(t.Context(), question(t, base)); got.Decision != "deny" || strings.Contains(got.Reason, "disk") {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNoQuestionIsAnError(t *testing.T) {
	for _, text := range []string{"", "x", "[]", "{}", `{"hook_event_name": "Stop"}`, `{"hook_event_name": "PreToolUse", "tool_input": {"command": 1}}`} {
		if a, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q is taken for %+v", text, a)
		}
	}
}

func TestTheRequestIsTheLineAndNamesItsUse(t *testing.T) {
	r := &fakeMonitor{}
	h := &Hook{Monitor: r, Client: "claude-code"}
	h.Decide(t.Context(), question(t, base))
	before := r.asked
	if before.Script != "ls" || before.Timeout.Seconds() != 5 || before.Origin.Call != "t" || before.Origin.Task != "s" || before.Origin.Front != "hook" {
		t.Errorf("%+v", before)
	}
	if err := h.Report(question(t, strings.Replace(base, "PreToolUse", "PostToolUse", 1))); err != nil || r.asked.ID != before.ID || before.ID == "" {
		t.Errorf("%v: the id is %q before and %q after", err, before.ID, r.asked.ID)
	}
}

func TestWhatTheClientSaysIsTakenDown(t *testing.T) {
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		says, more string
		want       audit.Reported
	}{
		{"well", `"hook_event_name": "PostToolUse", "duration_ms": 12, "tool_response": {"stdout": "abc", "stderr": "d", "interrupted": false}`,
			audit.Reported{Outcome: "completed", ExitCode: code(0), DurationMS: 12, StdoutBytes: 3, StderrBytes: 1}},
		{"failed", `"hook_event_name": "PostToolUseFailure", "error": "Exit code 127\nno such thing"`, audit.Reported{Outcome: "failed", ExitCode: code(127)}},
		{"failed otherwise", `"hook_event_name": "PostToolUseFailure", "error": "gone"`, audit.Reported{Outcome: "failed"}},
		{"interrupted", `"hook_event_name": "PostToolUseFailure", "error": "x", "is_interrupt": true`, audit.Reported{Outcome: "interrupted"}},
		{"in the background", `"hook_event_name": "PostToolUse", "tool_input": {"command": "x", "run_in_background": true}, "tool_response": "a text"`, audit.Reported{Outcome: "background"}},
	} {
		r := &fakeMonitor{}
		if err := (&Hook{Monitor: r}).Report(question(t, "{"+c.more+"}")); err != nil {
			t.Fatal(err)
		}
		got := r.reported[0]
		if (got.ExitCode == nil) != (c.want.ExitCode == nil) || got.ExitCode != nil && *got.ExitCode != *c.want.ExitCode {
			t.Errorf("%s: exit code %v", c.says, got.ExitCode)
		}
		if got.ExitCode, c.want.ExitCode = nil, nil; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.says, got, c.want)
		}
	}
}

// TestPathsOutsideOfTheProjectAreAsked: also by a link, and files that steer
// other programs.
func TestPathsOutsideOfTheProjectAreAsked(t *testing.T) {
	project := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(project, ".git"), 0o700), os.Mkdir(filepath.Join(project, "sub"), 0o700),
		os.Symlink("/etc", filepath.Join(project, "link")), os.Symlink("/etc/new", filepath.Join(project, "dangling"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path  string
		write bool
		rule  string
	}{
		{"a", true, ""},
		{"sub/new/deep", true, ""},
		{".git/config", false, ""},
		{".git/config", true, "hook/steers"},
		{".envrc", true, "hook/steers"},
		{"link/passwd", false, "hook/outside"},
		{"dangling", true, "hook/outside"},
		{"../x", false, "hook/outside"},
		{"/etc/passwd", false, "hook/outside"},
	} {
		path := c.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(project, path)
		}
		w := policy.ScriptDecision{Outside: []policy.NamedPath{{Path: path, Write: c.write}}}
		(&Hook{Project: project}).narrow(&w, Asked{Dir: filepath.Join(project, "sub"), Mode: "default"})
		rule := ""
		if len(w.Findings) > 0 {
			rule = w.Deciding().Rule
		}
		if rule != c.rule {
			t.Errorf("%s (write %t): %q, want %q", c.path, c.write, rule, c.rule)
		}
	}
}

// TestThePersonAtTheClientSeesTheRowsOfEveryFront: what the policy knows of a command that
// it leaves to them, such as where it goes.
func TestThePersonAtTheClientSeesTheRowsOfEveryFront(t *testing.T) {
	q := policy.Question{Asked: policy.Asked{Argv: []string{"git", "push"}, File: "/usr/bin/git", Goes: []policy.Destination{{To: "https://evil/\u202ex", What: []string{"refs/heads/main"}}}}}
	whole := policy.ScriptDecision{Findings: []policy.Finding{{Rule: "r", Effect: policy.Ask, Msg: "perhaps"}}}
	for range 200 {
		whole.Questions = append(whole.Questions, q)
	}
	got := (&Hook{Monitor: &fakeMonitor{whole: whole}}).Decide(t.Context(), question(t, base)).Reason
	for _, want := range []string{"perhaps", "Command:     git push", "Program:     /usr/bin/git", `Goes to:     https://evil/\u202ex: refs/heads/main`, "more commands need a person"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Time limit") || strings.Contains(got, "Counts for") || len(got) > 2*mostShown {
		t.Errorf("it says what the client's shell does not hold to, or too much: %d bytes\n%s", len(got), got)
	}
}
