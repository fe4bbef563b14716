//go:build unix

package kit

import (
	"os"
	"path/filepath"
	"syscall"
)

// Family is a script that leaves processes behind in every possible way;
// Members is how many there are in the end, including itself. They ignore the
// polite signals or all of them, they are in sessions of their own, and some
// have no living parent. It ends when the other end of "go" is opened.
const (
	Family = `trap '' TERM HUP INT
testcmd daemon >/dev/null &
setsid testcmd ignore >/dev/null &
setsid sh -c 'sleep 50 & sleep 50 & wait' &
(sleep 50 &)
(setsid sh -c 'sleep 50 & sleep 50' &)
testcmd tree 3 >/dev/null &
: <go`
	Members = 1 + 1 + 1 + 3 + 1 + 3 + 4
)

// House puts the family into the workspace as a file, because a session accepts
// no script as an argument. The function that it returns opens the other end of
// "go".
func (s *Server) House() (open func()) {
	s.T.Helper()
	if err := os.WriteFile(filepath.Join(s.Workspace, "family.sh"), []byte(Family), 0o600); err != nil {
		s.T.Fatal(err)
	}
	pipe := filepath.Join(s.Workspace, "go")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		s.T.Fatal(err)
	}
	return func() {
		f, err := os.OpenFile(pipe, os.O_RDWR, 0)
		if err != nil {
			s.T.Fatal(err)
		}
		s.T.Cleanup(func() { _ = f.Close() })
	}
}
