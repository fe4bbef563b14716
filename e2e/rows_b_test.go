//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/e2e/kit"
)

func jsonList(list []string) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(list)
	return strings.TrimSpace(b.String()), err
}

func TestB0WithoutTerminalAccessThereAreNoToolsOfSessions(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]int{"ENABLE_TERMINAL_ACCESS=": 5, "ENABLE_TERMINAL_ACCESS=false": 5, "ENABLE_TERMINAL_ACCESS=true": 9} {
		s := start(t, setup{env: []string{env}})
		res, err := s.Session.ListTools(t.Context(), nil)
		if err != nil || len(res.Tools) != want {
			t.Errorf("%s: %d tools, %v", env, len(res.Tools), err)
		}
	}
}

func TestB1CreateSession(t *testing.T) {
	s := start(t, setup{})
	b := s.Call("terminal_create_session", kit.Args{"taskId": "BUILD-001", "agentId": "build.agent:1"}).JSON()
	if !b.Success || !regexp.MustCompile(`^term-BUILD-001-\d{13}-[A-Z2-7]{20,}$`).MatchString(b.SessionID) {
		t.Errorf("got %+v", b)
	}
	if at, err := time.Parse(time.RFC3339, b.CreatedAt); err != nil || !strings.HasSuffix(b.CreatedAt, "Z") || time.Since(at) > time.Minute {
		t.Errorf("createdAt is %q", b.CreatedAt)
	}
	for _, bad := range []any{"", "a b", "a/b", "é", strings.Repeat("x", 129), 5, nil} {
		s.Call("terminal_create_session", kit.Args{"taskId": bad, "agentId": "a"}).Code("INVALID_PARAMETERS", "taskId")
		s.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": bad}).Code("INVALID_PARAMETERS", "agentId")
	}
	s.Call("terminal_create_session", kit.Args{"taskId": "t"}).Code("INVALID_PARAMETERS", "agentId")
}

func TestB2TheWorkingDirectoryIsCheckedAndShownCanonical(t *testing.T) {
	t.Parallel()
	s := start(t, setup{files: map[string]string{"sub/x": ""}})
	if err := os.Symlink("sub", filepath.Join(s.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	create := func(dir string) kit.Reply {
		return s.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": "a", "workingDirectory": dir})
	}
	if b := create("link").JSON(); b.WorkingDirectory != s.Workspace+"/sub" {
		t.Errorf("shown as %q", b.WorkingDirectory)
	}
	b := s.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": "a"}).JSON()
	if b.WorkingDirectory != s.Workspace {
		t.Errorf("the default is %q", b.WorkingDirectory)
	}
	create("nowhere").Code("INVALID_PARAMETERS", "workingDirectory")
	create("").Code("INVALID_PARAMETERS", "workingDirectory")
	create("sub/x").Code("INVALID_PARAMETERS", "workingDirectory")
	rooted := start(t, setup{env: []string{"ALLOWED_CWD_ROOTS=/usr"}})
	rooted.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": "a", "workingDirectory": "/etc"}).Code("INVALID_PARAMETERS")
	id := rooted.NewSession(kit.Args{"workingDirectory": "/usr/bin"})
	if b := rooted.InSession(id, "testcmd", []string{"cwd"}).JSON(); !strings.Contains(b.Stdout, `"/usr/bin"`) {
		t.Errorf("the command ran in %s", b.Stdout)
	}
}

func TestB3ExecuteCommandTellsHowItWent(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	id := s.NewSession()
	r := s.InSession(id, "testcmd", []string{"sleep", "250"})
	if b := r.JSON(); r.IsError || !b.Success || b.ExitCode != 0 || b.Duration < 250 || b.Duration > float64(heldUp.Milliseconds()) || b.Duration != float64(int(b.Duration)) {
		t.Errorf("got %+v", b)
	}
	r = s.InSession(id, "testcmd", []string{"exit", "3"})
	if b := r.JSON(); r.IsError || b.Success || b.ExitCode != 3 {
		t.Errorf("exit 3: isError=%v %+v", r.IsError, b)
	}
	r = s.InSession(id, "testcmd", []string{"signal", "KILL"})
	if b := r.JSON(); r.IsError || b.Success || b.ExitCode != 137 || b.Signal != "SIGKILL" {
		t.Errorf("death by a signal: isError=%v %+v", r.IsError, b)
	}
}

// TestB3InputIsWrittenAndClosed as in the other family (A12).
func TestB3InputIsWrittenAndClosed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	id := s.NewSession()
	big := strings.Repeat("0123456789abcdef", 20_000)
	for input, want := range map[any]string{"a\nb": "a\nb", "": "", nil: "", big: big} {
		if b := s.InSession(id, "cat", nil, kit.Args{"input": input}).JSON(); !b.Success || b.Stdout != want {
			t.Errorf("%.20v: got %d bytes of %d: %+.200v", input, len(b.Stdout), len(want), b)
		}
	}
	if b := s.InSession(id, "cat", nil).JSON(); !b.Success || b.Stdout != "" { // /dev/null
		t.Errorf("without input: %+v", b)
	}
	if b := s.InSession(id, "testcmd", []string{"exit", "0"}, kit.Args{"input": big}).JSON(); !b.Success { // never reads it
		t.Errorf("input that no one reads: %+v", b)
	}
	s.Call("terminal_execute_command", kit.Args{"sessionId": id, "command": "cat", "input": 5}).Code("INVALID_PARAMETERS", "input")
}

func TestB4TheTimeoutHasACeiling(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"TERMINAL_MAX_TIMEOUT=5000", "TERMINAL_DEFAULT_TIMEOUT=400"}})
	id := s.NewSession()
	for _, bad := range []any{0, -1, 5001, 1.5, "500"} {
		s.InSession(id, "echo", nil, kit.Args{"timeout": bad}).Code("INVALID_PARAMETERS", "imeout")
	}
	if !s.InSession(id, "echo", nil, kit.Args{"timeout": 5000}).JSON().Success {
		t.Error("the ceiling itself is refused")
	}
	b := s.InSession(id, "testcmd", []string{"partial", "30000"}, kit.Args{"timeout": 5000}).Code("TIMEOUT_EXCEEDED", "5000ms") // it has printed by then
	if b.ExitCode != 124 || b.Stdout == "" || b.Duration < 5000 {
		t.Errorf("got %+v", b)
	}
	s.InSession(id, "sleep", []string{"30"}).Code("TIMEOUT_EXCEEDED", "400ms") // the default
}

func TestB5StatusFollowsTheSession(t *testing.T) {
	t.Parallel()
	s := start(t, setup{files: map[string]string{"until.sh": untilFile("seen")}})
	id := s.NewSession()
	status := func() kit.JSONBody { return s.Call("terminal_get_status", kit.Args{"sessionId": id}).JSON() }
	in := status().Session
	if in.ID != id || in.TaskID != "T-1" || in.AgentID != "agent" || in.WorkingDirectory != s.Workspace || in.State != "idle" || in.CommandCount != 0 || in.LastCommandAt != "" {
		t.Errorf("a new session stands as %+v", in)
	}
	s.InSession(id, "echo", []string{"x"})
	if in := status().Session; in.State != "completed" || in.CommandCount != 1 || in.LastCommandAt == "" {
		t.Errorf("after a success: %+v", in)
	}
	s.InSession(id, "testcmd", []string{"exit", "1"})
	if in := status().Session; in.State != "failed" || in.CommandCount != 2 {
		t.Errorf("after a failure: %+v", in)
	}
	s.InSession(id, "rm", []string{"x"}).Code("COMMAND_NOT_ALLOWED")
	if in := status().Session; in.State != "failed" || in.CommandCount != 2 {
		t.Errorf("after a refusal: %+v", in)
	}
	done := make(chan kit.Reply)
	go func() { done <- s.InSession(id, "sh", []string{"until.sh"}) }()
	kit.Eventually(t, "the session is running", func() bool { return status().Session.State == "running" })
	if in := status().Session; in.CommandCount != 3 {
		t.Errorf("while it runs: %+v", in)
	}
	makeFile(t, s.Workspace, "seen")
	<-done
}

func TestB6CloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	id := s.NewSession()
	done := make(chan kit.Reply)
	go func() { done <- s.InSession(id, "sleep", []string{"60"}) }()
	for s.Call("terminal_get_status", kit.Args{"sessionId": id}).JSON().Session.State != "running" {
	}
	began := time.Now()
	b := s.Call("terminal_close_session", kit.Args{"sessionId": id}).JSON()
	if !b.Success || b.Message != "Session closed and resources freed" || b.SessionID != id {
		t.Errorf("got %+v", b)
	}
	if took := time.Since(began); took > heldUp {
		t.Errorf("closing took %v", took)
	}
	(<-done).Code("EXECUTION_ERROR", "ancelled")
	for _, r := range []kit.Reply{
		s.Call("terminal_close_session", kit.Args{"sessionId": id}), s.Call("terminal_get_status", kit.Args{"sessionId": id}),
		s.InSession(id, "echo", nil), s.Call("terminal_get_status", kit.Args{"sessionId": "../../etc"}),
	} {
		r.Code("SESSION_NOT_FOUND")
	}
}

func TestB7CommandsOfASessionRunInTheOrderOfTheirArrival(t *testing.T) {
	t.Parallel()
	s := prepare(t, setup{})
	r := kit.StartRaw(t, s.Cmd)
	r.Initialize()
	session := r.Call(1, "terminal_create_session", kit.Args{"taskId": "t", "agentId": "a"}).JSON().SessionID
	var lines []string
	for i := range 17 {
		lines = append(lines, r.Line(100+i, "terminal_execute_command", kit.Args{
			"sessionId": session, "command": "testcmd", "args": []string{"sleep", fmt.Sprint(20 - i)},
		}))
	}
	r.Send(strings.Join(lines, "\n"))
	for i := range 17 {
		if got := r.Receive(); got.ID != 100+i {
			t.Fatalf("answer %d belongs to call %d: %s", i, got.ID, got.Text())
		}
	}
	// One runs, sixteen wait, the next is told that the session is busy.
	lines = nil
	for i := range 18 {
		lines = append(lines, r.Line(200+i, "terminal_execute_command", kit.Args{
			"sessionId": session, "command": "testcmd", "args": []string{"sleep", "30000"},
		}))
	}
	r.Send(strings.Join(lines, "\n"))
	if got := r.Receive(); got.ID != 217 || !strings.Contains(got.Text(), "EXECUTION_ERROR") || !strings.Contains(got.Text(), "busy") {
		t.Errorf("the first answer is %d: %s", got.ID, got.Text())
	}
}

func TestB7SessionsRunSideBySideAndDoNotMix(t *testing.T) {
	t.Parallel()
	const meet = ": > ../met-$WHO; " // each ends only when the other one runs
	s := start(t, setup{files: map[string]string{"a/meet.sh": meet + untilFile("../met-b"), "b/meet.sh": meet + untilFile("../met-a")}})
	a := s.NewSession(kit.Args{"workingDirectory": "a", "environment": map[string]string{"WHO": "a"}})
	b := s.NewSession(kit.Args{"workingDirectory": "b", "environment": map[string]string{"WHO": "b"}})
	var both sync.WaitGroup
	for _, id := range []string{a, b} {
		both.Go(func() {
			if r := s.InSession(id, "sh", []string{"meet.sh"}); r.IsError || !r.JSON().Success {
				t.Errorf("they did not run side by side: %s", r.Text)
			}
		})
	}
	both.Wait()
	for id, who := range map[string]string{a: "a", b: "b"} {
		if env := s.InSession(id, "testcmd", []string{"env"}).JSON().Stdout; !strings.Contains(env, `"WHO=`+who+`"`) {
			t.Errorf("session %s has the environment %s", who, env)
		}
		if dir := s.InSession(id, "testcmd", []string{"cwd"}).JSON().Stdout; !strings.Contains(dir, s.Workspace+"/"+who) {
			t.Errorf("session %s works in %s", who, dir)
		}
	}
}

func TestB8SessionsEndWithTheConnection(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	id := s.NewSession()
	s.InSession(id, "testcmd", []string{"tree", "2"}, kit.Args{"timeout": 2000}).Code("TIMEOUT_EXCEEDED")
	_ = s.Session.Close()
	records := s.Records()
	var closed bool
	for _, rec := range records {
		if rec["event"] == "session.close" && strings.Contains(fmt.Sprint(rec["who"]), id) {
			closed = true
		}
	}
	if !closed {
		t.Errorf("the end of the session is not on the record")
	}
	if last := records[len(records)-1]; last["event"] != "server.stop" {
		t.Errorf("the last record is %v", last["event"])
	}
}

func TestB8TheIdleLifetimeCanBeSet(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"TIPSTAFF_SESSION_IDLE=150"}})
	id := s.NewSession()
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		r := s.InSession(id, "echo", nil)
		if r.IsError {
			r.Code("SESSION_NOT_FOUND")
			return
		}
		if time.Now().After(limit) {
			t.Fatal("the session did not expire")
		}
	}
}

func TestB9TheAllowlistFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		allows        bool
		fault         string
	}{
		{"an array", `["echo"]`, true, ""},
		{"an object", `{"commands": ["echo"], "version": "1.0.0", "lastUpdated": "2025-10-13", "securityReview": "APPROVED"}`, true, ""},
		{"a star is nothing special", `["*"]`, false, ""},
		{"another shape", `{"commands": {"echo": true}}`, false, "tools-allow.json"},
		{"a number", `["echo", 5]`, false, "tools-allow.json"},
		{"an empty name", `["echo", ""]`, false, "tools-allow.json"},
		{"a key twice", `{"commands": ["ls"], "commands": ["echo"]}`, false, "tools-allow.json"},
		{"no JSON", `echo`, false, "tools-allow.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, setup{allowlist: c.content})
			r := s.InSession(s.NewSession(), "echo", []string{"x"})
			if c.allows {
				if !r.JSON().Success {
					t.Errorf("it was refused:\n%s", r.Text)
				}
				return
			}
			r.Code("COMMAND_NOT_ALLOWED", c.fault)
			s.Command("echo x").Ran() // the other family has its own list
		})
	}
}

func TestB9TheFileIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	s := start(t, setup{allowlist: `["ls"]`})
	id := s.NewSession()
	path := ""
	for _, kv := range s.Cmd.Env {
		if name, value, _ := strings.Cut(kv, "="); name == "TERMINAL_ALLOWLIST_PATH" {
			path = value
		}
	}
	s.InSession(id, "echo", nil).Code("COMMAND_NOT_ALLOWED")
	if err := os.WriteFile(path, []byte(`["echo"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if !s.InSession(id, "echo", nil).JSON().Success {
		t.Error("the change was not seen")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.InSession(id, "echo", nil).Code("COMMAND_NOT_ALLOWED", "tools-allow.json")
}

func TestB10ArgumentsThatOnlyAShellWouldUnderstandAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	id := s.NewSession()
	for arg, rule := range map[string]string{
		"test; rm -rf /": "chaining", "test $(whoami)": "substitution", "test `cat /etc/passwd`": "substitution", "test $PATH/../../../": "expansion",
	} {
		b := s.InSession(id, "echo", []string{"fine", arg}).Code("UNSAFE_ARGUMENTS", rule)
		if b.Details["index"] != float64(1) || b.Hint == "" {
			t.Errorf("%q: %+v", arg, b)
		}
	}
	for _, argv := range [][]string{{"Price: $5.00"}, {`{"a": 1}`}, {"https://h.test/?a=1&b=2"}, {"fix: a & b; c"}} {
		if r := s.InSession(id, "echo", argv); r.IsError {
			t.Errorf("%q was refused:\n%s", argv, r.Text)
		}
	}
	s.Process("echo", []string{"test; rm -rf /"}).Ran() // family A: structure only
	strict := start(t, setup{env: []string{"TIPSTAFF_ARGUMENTS=strict"}})
	strict.InSession(strict.NewSession(), "git", []string{"commit", "-m", "a $(b)"}).Code("UNSAFE_ARGUMENTS")
	off := start(t, setup{env: []string{"TIPSTAFF_ARGUMENTS=off"}})
	if r := off.InSession(off.NewSession(), "echo", []string{"$(b)"}); r.IsError {
		t.Errorf("off still refuses:\n%s", r.Text)
	}
}

func environmentOf(t *testing.T, r kit.Reply) []string {
	t.Helper()
	var env []string
	var stdout string
	if strings.HasPrefix(r.Text, "{") {
		stdout = r.JSON().Stdout
	} else {
		stdout = r.YAML().Stdout
	}
	if err := json.Unmarshal([]byte(stdout), &env); err != nil {
		t.Fatalf("%v\n%s", err, r.Text)
	}
	return env
}

func TestB11TheEnvironmentCarriesNoSecretsAndNoInjections(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{
		"AWS_SECRET_ACCESS_KEY=hidden-value", "DATABASE_URL=postgres://u:p@h/d", "MY_VAR=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "SSH_AUTH_SOCK=/tmp/agent",
		"LD_LIBRARY_PATH=/tmp", "AUTHOR=Jane", "KEYBOARD=us", "NODE_ENV=test", "CAWS_TASK_ID=inherited", "LC_ALL=C.UTF-8",
	}})
	family := s.NewSession(kit.Args{"environment": map[string]string{"CI": "true", "GIT_AUTHOR_NAME": "J", "CAWS_TASK_ID": "forged", "CAWS_EXTRA": "x", "PATH": "/tmp", "NODE_OPTIONS": "--require x", "API_TOKEN": "s3cret"}})
	for name, env := range map[string][]string{
		"terminal": environmentOf(t, s.InSession(family, "testcmd", []string{"env"})),
		"execute":  environmentOf(t, s.Command("testcmd env")),
	} {
		all := "\n" + strings.Join(env, "\n") + "\n"
		for _, gone := range []string{"AWS_SECRET", "DATABASE_URL", "MY_VAR", "SSH_AUTH_SOCK", "LD_LIBRARY_PATH", "hidden-value", "NODE_OPTIONS", "API_TOKEN", "forged", "ALLOWED_COMMANDS", "TERMINAL_ALLOWLIST_PATH", "TIPSTAFF_STATE_DIR"} {
			if strings.Contains(all, gone) {
				t.Errorf("%s: %s is passed on", name, gone)
			}
		}
		for _, kept := range []string{"\nAUTHOR=Jane\n", "\nKEYBOARD=us\n", "\nNODE_ENV=test\n", "\nLC_ALL=C.UTF-8\n", ":/usr/local/bin:/usr/bin:/bin\n"} {
			if !strings.Contains(all, kept) {
				t.Errorf("%s: %q is missing", name, strings.TrimSpace(kept))
			}
		}
	}
	env := environmentOf(t, s.InSession(family, "testcmd", []string{"env"}))
	for _, want := range []string{"CI=true", "GIT_AUTHOR_NAME=J", "CAWS_TASK_ID=T-1", "CAWS_AGENT_ID=agent", "CAWS_SESSION_ID=" + family, "CAWS_EXTRA=x"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestB11WhatIsDroppedIsReportedByName(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	b := s.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": "a", "environment": map[string]string{"LD_PRELOAD": "/x.so", "CI": "1", "PATH": "/tmp"}}).JSON()
	slices.Sort(b.DroppedEnvironment)
	if !slices.Equal(b.DroppedEnvironment, []string{"LD_PRELOAD", "PATH"}) {
		t.Errorf("dropped %q", b.DroppedEnvironment)
	}
	s.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": "a", "environment": map[string]string{"A B": "1"}}).Code("INVALID_PARAMETERS", "A B")
	s.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": "a", "environment": map[string]any{"A": 1}}).Code("INVALID_PARAMETERS", "environment")
}

func TestB12SessionsAndOutputAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"TERMINAL_MAX_SESSIONS=2", "TERMINAL_MAX_OUTPUT_SIZE=10000"}})
	id := s.NewSession()
	s.NewSession()
	s.Call("terminal_create_session", kit.Args{"taskId": "t", "agentId": "a"}).Code("MAX_SESSIONS_EXCEEDED", "2")
	b := s.InSession(id, "testcmd", []string{"flood", "1000000", "both"}, kit.Args{"raw": true}).JSON()
	if n := len(b.Stdout) + len(b.Stderr); !b.Success || !b.Truncated || n > 10_000 || n < 8_000 || len(b.Stderr) < 2_000 {
		t.Errorf("kept %d and %d bytes, truncated=%v", len(b.Stdout), len(b.Stderr), b.Truncated)
	}
	y := s.Command("testcmd flood 1000000", kit.Args{"raw": true}).Ran()
	if len(y.Stdout) > 10_000 || len(y.Stdout) < 9_000 || !y.Truncated {
		t.Errorf("family A kept %d bytes, truncated=%v", len(y.Stdout), y.Truncated)
	}
	if y := s.Command("testcmd flood 10000", kit.Args{"raw": true}).Ran(); len(y.Stdout) != 10_000 || y.Truncated {
		t.Errorf("exactly the bound: kept %d bytes, truncated=%v", len(y.Stdout), y.Truncated)
	}
}

func TestB12AnAnswerShowsAsMuchAsIsAskedFor(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"TIPSTAFF_ANSWER_BYTES=2000", "TERMINAL_MAX_OUTPUT_SIZE=10000"}})
	id := s.NewSession()
	count := []string{"-c", "seq 50000"}
	for _, c := range []struct {
		more kit.Args
		most int
	}{{nil, 2000}, {kit.Args{"max_output_bytes": 500}, 500}, {kit.Args{"max_output_bytes": 5000}, 5000}, {kit.Args{"max_output_bytes": 1_000_000}, 10_000}} {
		y := s.Process("sh", count, c.more).Ran()
		if n := len(y.Stdout); !y.Truncated || n > c.most || n < c.most*8/10 || !strings.HasPrefix(y.Stdout, "1\n2\n") || !strings.HasSuffix(y.Stdout, "\n50000\n") {
			t.Errorf("%v: %d bytes, truncated=%v", c.more, n, y.Truncated)
		}
	}
	b := s.InSession(id, "sh", count, kit.Args{"maxOutputBytes": 500}).JSON()
	if n := len(b.Stdout); !b.Truncated || n > 500 || n < 400 {
		t.Errorf("family B: %d bytes, truncated=%v", n, b.Truncated)
	}
	failed := s.Process("sh", []string{"-c", "seq 50000; exit 1"}).YAML()
	if head, _, _ := strings.Cut(failed.Stdout, "[…"); len(head) > 2000*15/100 {
		t.Errorf("after a failure %d bytes of the beginning are shown", len(head))
	}
	s.Process("sh", count, kit.Args{"max_output_bytes": 0}).Refused("max_output_bytes")
	s.InSession(id, "sh", count, kit.Args{"raw": "yes"}).Code("INVALID_PARAMETERS", "raw")
}

func TestB12ASettingThatIsNotAPositiveWholeNumberStopsTheStart(t *testing.T) {
	for _, env := range []string{"TERMINAL_MAX_SESSIONS=0", "TERMINAL_MAX_OUTPUT_SIZE=1.5", "TERMINAL_DEFAULT_TIMEOUT=soon", "TERMINAL_MAX_TIMEOUT=-1"} {
		srv := prepare(t, setup{env: []string{env}})
		err := srv.Cmd.Run()
		name, _, _ := strings.Cut(env, "=")
		if srv.Cmd.ProcessState.ExitCode() != 3 || !strings.Contains(srv.Stderr.String(), name) {
			t.Errorf("%s: %v\n%s", env, err, srv.Stderr)
		}
	}
}

func TestB13Errors(t *testing.T) {
	t.Parallel()
	s := start(t, setup{allowlist: `["npm", "git", "echo"]`})
	id := s.NewSession()
	b := s.InSession(id, "rm", []string{"$(x)"}).Code("COMMAND_NOT_ALLOWED") // command first, then arguments
	if b.Message != "Command 'rm' is not allowed" {
		t.Errorf("message %q", b.Message)
	}
	if got, _ := json.Marshal(b.Details); string(got) != `{"allowedCommands":["npm","git","echo"],"command":"rm"}` {
		t.Errorf("details %s", got)
	}
	s.Call("terminal_execute_command", kit.Args{"sessionId": id}).Code("INVALID_PARAMETERS", "command")
	s.Call("terminal_execute_command", kit.Args{"command": "echo"}).Code("INVALID_PARAMETERS", "sessionId")
	s.Call("terminal_get_status", kit.Args{}).Code("INVALID_PARAMETERS", "sessionId")
	s.Call("terminal_close_session", kit.Args{"sessionId": 5}).Code("INVALID_PARAMETERS", "sessionId")
	s.Call("terminal_execute_command", kit.Args{"sessionId": id, "command": "echo", "cwd": "/"}).Code("INVALID_PARAMETERS", "cwd")
	s.InSession(id, "npm-does-not-exist", nil).Code("COMMAND_NOT_ALLOWED")
	missing := start(t, setup{allowlist: `["no-such-program"]`})
	missing.InSession(missing.NewSession(), "no-such-program", nil).Code("EXECUTION_ERROR", "no-such-program")
}
