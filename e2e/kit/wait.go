//go:build unix

package kit

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience is how long tests wait for something that is immediate on an idle
// machine. It is not a promise of tipstaff.
const Patience = 45 * time.Second

// Eventually waits for a condition; details describe a failure.
func Eventually(t testing.TB, what string, is func() bool, details ...func() string) {
	t.Helper()
	for limit := time.Now().Add(Patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			for _, d := range details {
				what += "\n" + d()
			}
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}

// Says waits until a server that was started has written text to its log. A
// server that has ended, and has not been waited for, fails the test at once, with
// what it said.
func (s *Server) Says(text string) {
	s.T.Helper()
	Eventually(s.T, "the server says "+text, func() bool {
		if Zombie(s.Cmd.Process.Pid) {
			err := s.Cmd.Wait() // the log is whole then
			s.T.Fatalf("the server has ended: %v\n%s", err, s.Stderr)
		}
		return strings.Contains(s.Stderr.String(), text)
	}, s.Stderr.String)
}

// Gone waits until a process no longer exists (a zombie does not count as
// existing), at most for the time given.
func Gone(pid int, within time.Duration) bool {
	for limit := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(pid, 0) != nil || Zombie(pid) {
			return true
		}
		if time.Now().After(limit) {
			return false
		}
	}
}

// Zombie reports whether a process has ended and has not been reaped.
func Zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(after, "Z")
}
