//go:build linux

package e2e

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// TestACommandStartsWithItsOwnSignalsWhateverTheServerWasGiven starts the
// server as a careless parent would: every signal blocked, and ignored.
func TestACommandStartsWithItsOwnSignalsWhateverTheServerWasGiven(t *testing.T) {
	t.Parallel()
	testcmd := testcmdtest.Build(t)
	// A command that the launcher itself starts shows what the launcher hands
	// on.
	handedOn, err := exec.Command(testcmd, "deaf", testcmd, "sigmask").Output()
	if err != nil || clean(string(handedOn), "SigBlk") || clean(string(handedOn), "SigIgn") {
		t.Fatalf("the launcher hands nothing on, so nothing is shown: %v\n%s", err, handedOn)
	}
	eachTier(t, func(t *testing.T, env []string) { startDeaf(t, testcmd, env) })
}

func startDeaf(t *testing.T, testcmd string, env []string) {
	s := prepare(t, setup{env: append(env, "ALLOWED_COMMANDS=testcmd,cat"), allowlist: `["testcmd"]`})
	s.Cmd.Path, s.Cmd.Args = testcmd, append([]string{"testcmd", "deaf"}, s.Cmd.Args...)
	r := kit.StartRaw(t, s.Cmd)
	r.Initialize()
	asked := func(id int, tool string, a kit.Args) string {
		t.Helper()
		m := r.Call(id, tool, a)
		if m.Result.IsError {
			t.Fatal(m.Text())
		}
		return strings.ReplaceAll(strings.ReplaceAll(m.Text(), `\t`, "\t"), `\n`, "\n") // unescape JSON
	}
	session := r.Call(1, "terminal_create_session", kit.Args{"taskId": "T", "agentId": "a"}).JSON().SessionID
	for what, said := range map[string]string{
		"a command":           asked(2, "execute_process", kit.Args{"file": "testcmd", "args": []string{"sigmask"}}),
		"one of a session":    asked(3, "terminal_execute_command", kit.Args{"sessionId": session, "command": "testcmd", "args": []string{"sigmask"}}),
		"one that is not Go":  asked(4, "execute_process", kit.Args{"file": "cat", "args": []string{"/proc/self/status"}}),
		"a line of that kind": asked(5, "execute_command", kit.Args{"command": "cat /proc/self/status"}),
	} {
		if !clean(said, "SigBlk") || !clean(said, "SigIgn") {
			t.Errorf("%s starts with signals of the server's:\n%s", what, said)
		}
	}
	// The server itself still receives signals.
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	within(t, "the end of the server", func() { _ = s.Cmd.Wait() })
	if last := s.Records()[len(s.Records())-1]; last["event"] != "server.stop" {
		t.Errorf("the last record is %v", last["event"])
	}
}

// clean reports whether a set of signals of /proc/PID/status is empty; see
// proc_pid_status(5).
func clean(status, set string) bool {
	return strings.Contains(status, set+":\t0000000000000000")
}
