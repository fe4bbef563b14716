//go:build unix

package e2e

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eachTier runs f with the settings of every tier that the machine gives: each
// holds its commands together, and ends them, by means of its own.
func eachTier(t *testing.T, f func(t *testing.T, env []string)) {
	t.Helper()
	for tier, env := range map[string][]string{
		"namespaces": {"TIPSTAFF_SANDBOX=best-effort"},
		"landlock":   {"TIPSTAFF_SANDBOX=best-effort", "TIPSTAFF_SANDBOX_TIER=landlock"}, // at most
		"none":       {"TIPSTAFF_SANDBOX=off"},
	} {
		t.Run(tier, func(t *testing.T) { f(t, env) })
	}
}

// mark is a variable that nobody has in the environment but the commands of
// one test and what they start. It finds survivors that no pid leads to.
type mark string

func newMark(t *testing.T) mark {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("environments are read from /proc: ", err)
	}
	return mark(rand.Text())
}

const markName = "TEST_MARK"

// family is a script that leaves processes in every way that there is; members
// are how many there are in the end, itself included. They ignore the polite
// signals or all of them, they are in sessions of their own, and some have no
// parent that lives. It ends when somebody opens the other end of "go".
const (
	family = `trap '' TERM HUP INT
testcmd daemon >/dev/null &
setsid testcmd ignore >/dev/null &
setsid sh -c 'sleep 50 & sleep 50 & wait' &
(sleep 50 &)
(setsid sh -c 'sleep 50 & sleep 50' &)
testcmd tree 3 >/dev/null &
: <go`
	members = 1 + 1 + 1 + 3 + 1 + 3 + 4
)

// house puts the family into the workspace, as a file: a session takes no
// script for an argument. What it gives opens the other end of "go".
func (s *server) house() (open func()) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.workspace, "family.sh"), []byte(family), 0o600); err != nil {
		s.t.Fatal(err)
	}
	pipe := filepath.Join(s.workspace, "go")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		f, err := os.OpenFile(pipe, os.O_RDWR, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = f.Close() })
	}
}

// inEnvironment are the arguments of sh for a script with the mark in its
// environment, where the caller cannot set variables.
func (m mark) inEnvironment(script string) []string {
	return []string{"-c", markName + `="$1" exec sh -c "$2"`, "sh", string(m), script}
}

// holders lists the processes that have the mark and run. One that has ended
// has no environment any more.
func (m mark) holders(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range dirs {
		tasks, _ := filepath.Glob(dir + "/task/[0-9]*") // the main thread may have ended before others
		if m.in(dir) || slices.ContainsFunc(tasks, m.in) {
			found = append(found, dir)
		}
	}
	return found
}

func (m mark) in(dir string) bool {
	environ, err := os.ReadFile(dir + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+markName+"="+string(m)+"\x00"))
}

// wantHolders waits until as many processes with the mark run. That they are
// found while they live is what makes it mean something that none is found.
func (m mark) wantHolders(t *testing.T, n int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		found := m.holders(t)
		if len(found) == n {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%d processes have the mark, want %d:\n%s", len(found), n, described(found))
		}
	}
}

// wantNone waits until no process with the mark runs, at most for the time
// given. One that is between two programs shows no environment for a moment,
// so it looks twice.
func (m mark) wantNone(t *testing.T, within time.Duration) {
	t.Helper()
	none := 0
	for limit := time.Now().Add(within); none < 2; time.Sleep(5 * time.Millisecond) {
		found := m.holders(t)
		none++
		if len(found) > 0 {
			none = 0
		}
		if none == 0 && time.Now().After(limit) {
			t.Errorf("%d processes have survived:\n%s", len(found), described(found))
			return
		}
	}
}

// described names processes for people.
func described(dirs []string) string {
	var b strings.Builder
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		b.WriteString(filepath.Base(dir) + " " + strings.ReplaceAll(string(line), "\x00", " ") + "\n")
	}
	return b.String()
}

// TestASurvivorIsFoundByItsMarkAndTheDeadAreNot is about the search itself.
func TestASurvivorIsFoundByItsMarkAndTheDeadAreNot(t *testing.T) {
	m := newMark(t)
	m.wantHolders(t, 0)
	cmd := exec.Command("sh", m.inEnvironment("sleep 50 & exec sleep 50")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	m.wantHolders(t, 2)
	newMark(t).wantHolders(t, 0) // they are not everybody's
	_ = cmd.Process.Kill()
	if !gone(cmd.Process.Pid, 10*time.Second) || !zombie(cmd.Process.Pid) { // nobody has asked for it yet
		t.Fatal("it is no zombie: nothing is shown")
	}
	m.wantHolders(t, 1)
}
