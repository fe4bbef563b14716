//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestT1BadArgumentsAreToolErrorsAndUnknownToolsAreProtocolErrors(t *testing.T) {
	s := start(t, setup{})
	s.call("execute_command", args{"command": "echo x", "shell": true}).refused(`"shell"`, "not known", "INVALID_PARAMETERS")
	s.call("execute_command", args{"command": []string{"echo"}}).refused(`"command" must be a string`)
	s.call("execute_process", args{"file": "echo", "args": "x"}).refused(`"args" must be a list of strings`)
	s.call("execute_process", args{"file": "cat", "input": args{"a": 1}}).refused(`"input" must be a string`)
	s.call("execute_command", nil).refused(`"command" is missing`)
	_, err := s.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("an unknown tool gave %v", err)
	}
}

func TestT2StandardOutputBelongsToTheProtocol(t *testing.T) {
	s := prepare(t, setup{env: []string{"ALLOWED_COMMANDS=testcmd,sh,python3"}}) // which it warns about
	r := startRaw(t, s.cmd)
	r.initialize()
	r.send("this is no message")
	r.receive()
	r.call(1, "execute_process", args{"file": "testcmd", "args": []string{"flood", "100"}})
	r.call(2, "execute_process", args{"file": "sh", "args": []string{"-c", "for f in 3 4 5 6 7 8 9; do echo x >&$f; done 2>/dev/null; :"}})
	for line := range strings.Lines(s.stderr.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("standard error has a line that is not structured: %s", line)
		}
	}
	if !strings.Contains(s.stderr.String(), "no boundary") {
		t.Errorf("the start did not warn of sh:\n%s", s.stderr)
	}
}

// within runs f and fails when it takes longer.
func within(t *testing.T, limit time.Duration, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > limit {
		t.Errorf("%s took %v, more than %v", what, took, limit)
	}
}

func TestT3ACallAlwaysComesBack(t *testing.T) {
	// The time that an answer of 1 MiB takes to be written is the protocol
	// library's; under the race detector that is seconds.
	s := start(t, setup{env: []string{"TERMINAL_MAX_OUTPUT_SIZE=65536"}})
	within(t, time.Second, "a child in a session of its own that holds the output", func() {
		s.command("testcmd hold").ran()
	})
	within(t, time.Second, "a daemon that holds the output", func() {
		s.command("testcmd daemon keep").ran()
	})
	within(t, time.Second, "a background job that holds the output", func() {
		if b := s.process("sh", []string{"-c", "sleep 30 & echo done"}).ran(); b.Stdout != "done\n" {
			t.Errorf("got %q", b.Stdout)
		}
	})
	within(t, 1300*time.Millisecond, "a program that ignores every signal", func() {
		s.command("testcmd ignore", args{"timeout_ms": 300}).refused("Timed out")
	})
	within(t, 1300*time.Millisecond, "a flood without end", func() {
		s.command("cat /dev/zero", args{"timeout_ms": 300}).refused("Timed out")
	})
	within(t, 1300*time.Millisecond, "a program that has closed its output", func() {
		s.command("testcmd closefds 30000", args{"timeout_ms": 300}).refused("Timed out")
	})
}

// pidsOf reads process ids out of what a program printed.
func pidsOf(t *testing.T, text string) []int {
	t.Helper()
	var pids []int
	for f := range strings.FieldsSeq(text) {
		pid, err := strconv.Atoi(f)
		if err != nil || pid < 2 {
			t.Fatalf("%q is no process id", f)
		}
		pids = append(pids, pid)
	}
	return pids
}

func TestT4CancellingACallEndsItsTree(t *testing.T) {
	eachTier(t, func(t *testing.T, env []string) {
		s, m := start(t, setup{env: env}), newMark(t)
		s.house()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_process",
				Arguments: args{"file": "sh", "args": m.inEnvironment(family)}})
			done <- err
		}()
		m.wantHolders(t, members)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the call gave %v", err)
		}
		m.wantNone(t, 2*time.Second)
		s.command("echo still here").ran()
	})
}

// twoFamilies starts the family by both kinds of tools, as the calls 2 and 3,
// and waits until all of it is there.
func (r *raw) twoFamilies(m mark) {
	r.t.Helper()
	r.initialize()
	id := r.call(1, "terminal_create_session", args{"taskId": "t", "agentId": "a", "environment": args{markName: m}}).json().SessionID
	r.send(r.line(2, "terminal_execute_command", args{"sessionId": id, "command": "sh", "args": []string{"family.sh"}}))
	r.send(r.line(3, "execute_process", args{"file": "sh", "args": m.inEnvironment(family)}))
	m.wantHolders(r.t, 2*members)
}

func TestT4TheEndOfTheServerEndsItsCommands(t *testing.T) {
	for name, end := range map[string]func(r *raw){
		"the client closes its end": func(r *raw) { _ = r.in.Close() },
		"the client is gone":        func(r *raw) { _ = r.in.Close(); _ = r.stdout.Close() },
		"SIGTERM":                   func(r *raw) { _ = r.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":                    func(r *raw) { _ = r.cmd.Process.Signal(syscall.SIGINT) },
		"SIGHUP":                    func(r *raw) { _ = r.cmd.Process.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			eachTier(t, func(t *testing.T, env []string) {
				s, m := prepare(t, setup{env: env}), newMark(t)
				s.house()
				r := startRaw(t, s.cmd)
				r.twoFamilies(m)
				end(r)
				m.wantNone(t, 2*time.Second)
				_ = s.cmd.Wait()
				records := s.records()
				if last := records[len(records)-1]; last["event"] != "server.stop" {
					t.Errorf("the last record is %v", last["event"])
				}
			})
		})
	}
}

func TestT4ANotificationOfCancellationEndsOneCallAndNoOther(t *testing.T) {
	eachTier(t, func(t *testing.T, env []string) {
		s, m := prepare(t, setup{env: env}), newMark(t)
		s.house()
		r := startRaw(t, s.cmd)
		r.twoFamilies(m)
		const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`
		r.send(fmt.Sprintf(cancelled, 2))
		m.wantHolders(t, members) // the other one's
		r.send(fmt.Sprintf(cancelled, 3))
		m.wantNone(t, 2*time.Second)
		r.send(r.line(4, "execute_command", args{"command": "echo still here"}))
		answer := r.receive()
		for answer.ID != 4 {
			answer = r.receive()
		}
		if !strings.Contains(answer.text(), "still here") {
			t.Errorf("afterwards: %s", answer.text())
		}
	})
}

func TestT4WhatAKilledServerLeavesIsEndedByTheNext(t *testing.T) {
	for name, next := range map[string]string{"a server with the same state directory": "serve", "doctor --reap": "doctor --reap"} {
		t.Run(name, func(t *testing.T) {
			eachTier(t, func(t *testing.T, env []string) {
				s, m := prepare(t, setup{env: env}), newMark(t)
				s.house()
				again := exec.Command(tipstaffPath(t), strings.Fields(next)...)
				again.Env, again.Dir = s.cmd.Env, s.workspace
				startRaw(t, s.cmd).twoFamilies(m)
				_ = s.cmd.Process.Kill()
				_ = s.cmd.Wait()
				if len(m.holders(t)) == 0 {
					t.Log("nothing has survived the server, so nothing is left to the next")
				}
				if out, err := again.CombinedOutput(); err != nil { // standard input is empty: a server leaves at once
					t.Fatalf("%v\n%s", err, out)
				}
				m.wantNone(t, time.Second)
			})
		})
	}
}

func TestT6NothingOfACommandIsLeftASecondAfterItsAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		timeout int
		ends    bool // by itself
	}{
		"after a timeout":    {5000, false},
		"after a normal end": {30_000, true},
	} {
		t.Run(name, func(t *testing.T) {
			eachTier(t, func(t *testing.T, env []string) {
				s, m := start(t, setup{env: env}), newMark(t)
				open := s.house()
				id := s.newSession(args{"environment": args{markName: m}})
				answers := make(chan reply, 2)
				go func() { answers <- s.process("sh", m.inEnvironment(family), args{"timeout_ms": c.timeout}) }()
				go func() { answers <- s.inSession(id, "sh", []string{"family.sh"}, args{"timeout": c.timeout}) }()
				m.wantHolders(t, 2*members)
				if c.ends {
					open()
				}
				for range 2 {
					if a := <-answers; a.IsError == c.ends {
						t.Errorf("the answer is %s", a.Text)
					}
				}
				m.wantNone(t, time.Second)
			})
		})
	}
}

// memory gives the highest resident memory of the server so far.
func (s *server) memory(field string) int64 {
	s.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Skip("memory is read from /proc: ", err)
	}
	_, rest, _ := strings.Cut(string(data), field+":")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return kb << 10
}

func TestT5MemoryStaysBoundedWhateverACommandPrints(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector multiplies memory; the figure is measured without it")
	}
	for _, c := range []struct {
		name  string
		env   []string
		limit int64
	}{
		{"at the default bound", nil, 64 << 20},
		{"at 64 KiB", []string{"TERMINAL_MAX_OUTPUT_SIZE=65536"}, 16 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, setup{env: append(c.env, "ALLOWED_COMMANDS=head,echo")})
			s.command("echo warm").ran()
			idle := s.memory("VmRSS")
			b := s.command("head -c 4294967296 /dev/zero", args{"timeout_ms": 120_000}).ran()
			if above := s.memory("VmHWM") - idle; above > c.limit || !b.Truncated {
				t.Errorf("4 GiB of output cost %d MiB above idle, more than %d MiB (truncated=%v)", above>>20, c.limit>>20, b.Truncated)
			}
		})
	}
}

func TestT6ATimeoutEndsTheTreePolitelyFirst(t *testing.T) {
	s := start(t, setup{})
	b := s.command("testcmd term-print", args{"timeout_ms": 500}).yaml()
	if b.Stdout != "ready\nterminated\n" || b.ExitCode != 124 {
		t.Errorf("got %+v", b)
	}
}

func TestT7WhatBreaksOthersIsAnErrorOfThatCall(t *testing.T) {
	s := prepare(t, setup{})
	r := startRaw(t, s.cmd)
	r.initialize()
	many := make([]string, 100_000)
	for i := range many {
		many[i] = "x"
	}
	nested := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for name, line := range map[string]string{
		"an argument of 10 MB":    r.line(1, "execute_process", args{"file": "echo", "args": []string{strings.Repeat("x", 10<<20)}}),
		"100 000 arguments":       r.line(2, "execute_process", args{"file": "echo", "args": many}),
		"a command line of 10 MB": r.line(3, "execute_command", args{"command": "echo " + strings.Repeat("x", 10<<20)}),
		"nested JSON":             `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"execute_process","arguments":{"file":"echo","args":` + nested + `}}}`,
		"half a message":          `{"jsonrpc":"2.0","id":5,"method":"tools/call"`,
		"a batch":                 `[{"jsonrpc":"2.0","id":6,"method":"ping"}]`,
		"no message at all":       strings.Repeat("\x00", 1000),
		"an unknown method":       `{"jsonrpc":"2.0","id":7,"method":"no/such/method"}`,
		"params of another type":  `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[1,2]}`,
		"arguments that are none": `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"execute_process","arguments":[1,2]}}`,
	} {
		r.send(line)
		m := r.receive()
		if m.Error == nil && !m.Result.IsError {
			t.Errorf("%s was accepted: %.300s", name, m.line)
		}
		if m.Error != nil && m.Error.Code == 0 {
			t.Errorf("%s gave an error without a code: %s", name, m.line)
		}
		if len(m.line) > 20_000 {
			t.Errorf("%s gave an answer of %d bytes", name, len(m.line))
		}
	}
	if m := r.call(99, "execute_process", args{"file": "echo", "args": []string{"still here"}}); m.ID != 99 || !strings.Contains(m.text(), "still here") {
		t.Errorf("afterwards: %s", m.line)
	}
}

func TestT8RefusalsLeakNothingOfTheHost(t *testing.T) {
	s := start(t, setup{env: []string{"ALLOWED_COMMANDS=ls,no-such-program", "ALLOWED_CWD_ROOTS=/usr"}})
	id := s.newSession()
	for _, r := range []reply{
		s.command("pwd"), s.command("no-such-program"), s.command("ls; id"), s.command("ls", args{"cwd": "/etc"}), s.command("ls", args{"cwd": "nowhere"}),
		s.inSession(id, "rm", nil), s.inSession(id, "echo", []string{"$(x)"}), s.call("terminal_get_status", args{"sessionId": "x"}),
	} {
		for _, secret := range []string{s.state, s.workspace, "/usr/bin", "goroutine", ".go:"} {
			if strings.Contains(r.Text, secret) {
				t.Errorf("the refusal tells %q:\n%s", secret, r.Text)
			}
		}
	}
}

func TestB15EveryOperationIsOnTheRecordAndSecretsAreNot(t *testing.T) {
	s := start(t, setup{env: []string{"MY_API_TOKEN=known-secret-value-123"}})
	id := s.newSession()
	s.command("echo hello --password=hunter2secret ghp_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb known-secret-value-123")
	s.command("rm x")
	s.command("echo a; id")
	s.inSession(id, "echo", []string{"in session"})
	s.inSession(id, "echo", []string{"$(id)"})
	s.call("execute_command", args{"command": 5})
	s.call("terminal_close_session", args{"sessionId": id})
	s.inSession(id, "echo", nil)
	_ = s.session.Close()

	var events []string
	for _, r := range s.records() {
		events = append(events, fmt.Sprint(r["event"]))
	}
	want := "server.start session.create command.start command.end command.refused command.refused command.start command.end command.refused call.refused session.close call.refused server.stop"
	if got := strings.Join(events, " "); got != want {
		t.Errorf("recorded\n  %s\nwant\n  %s", got, want)
	}
	var all strings.Builder
	_ = filepath.WalkDir(s.state, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := os.ReadFile(path)
			all.Write(data)
		}
		return err
	})
	for _, secret := range []string{"hunter2secret", "ghp_bbbb", "known-secret-value"} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("%s is below the state directory", secret)
		}
	}
	for _, told := range []string{`"code":"COMMAND_NOT_ALLOWED"`, `"code":"UNSAFE_ARGUMENTS"`, `"code":"INVALID_COMMAND_LINE"`, `"code":"INVALID_PARAMETERS"`, `"code":"SESSION_NOT_FOUND"`, `"task":"T-1"`, `"agent":"agent"`, `"session":"` + id, `"name":"terminal:security:violation"`, `"policy_sha256":"`, `"profile":"workspace","network":"on"}`} {
		if !strings.Contains(all.String(), told) {
			t.Errorf("the record does not say %s", told)
		}
	}
}
