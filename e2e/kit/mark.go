//go:build unix

package kit

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Mark is an environment variable that only the commands of one test have, and
// what they start. It finds survivors to which no process id leads.
type Mark string

// NewMark returns a new mark.
func NewMark(t *testing.T) Mark {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("environments are read from /proc: ", err)
	}
	return Mark(rand.Text())
}

// MarkName is the name of the variable.
const MarkName = "TEST_MARK"

// InEnvironment returns arguments of sh for a script with the mark in its
// environment, for callers that cannot set variables.
func (m Mark) InEnvironment(script string) []string {
	return []string{"-c", MarkName + `="$1" exec sh -c "$2"`, "sh", string(m), script}
}

// Holders lists the running processes that have the mark. A process that has
// ended has no environment any more.
func (m Mark) Holders(t *testing.T) []string {
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

func (m Mark) in(dir string) bool {
	environ, err := os.ReadFile(dir + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+MarkName+"="+string(m)+"\x00"))
}

// WantHolders waits until n processes with the mark run. Only because they are
// found while they live does it mean something that none is found later.
func (m Mark) WantHolders(t *testing.T, n int) {
	t.Helper()
	for limit := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		found := m.Holders(t)
		if len(found) == n {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%d processes have the mark, want %d:\n%s", len(found), n, Described(found))
		}
	}
}

// WantNone waits until no process with the mark runs, at most for the time
// given. A process in the middle of exec shows no environment for a moment, so
// it looks twice.
func (m Mark) WantNone(t *testing.T, within time.Duration) {
	t.Helper()
	none := 0
	for limit := time.Now().Add(within); none < 2; time.Sleep(5 * time.Millisecond) {
		found := m.Holders(t)
		none++
		if len(found) > 0 {
			none = 0
		}
		if none == 0 && time.Now().After(limit) {
			t.Errorf("%d processes have survived:\n%s", len(found), Described(found))
			return
		}
	}
}

// Described describes processes for people.
func Described(dirs []string) string {
	var b strings.Builder
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		b.WriteString(filepath.Base(dir) + " " + strings.ReplaceAll(string(line), "\x00", " ") + "\n")
	}
	return b.String()
}
