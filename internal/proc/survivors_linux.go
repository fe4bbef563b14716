//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tipstaff/internal/flock"
)

// A server that is killed cannot end its commands. So each server keeps an owner lock in
// the state directory: a file whose name is the tag of the server and whose content is
// its control group, locked as long as the server lives. A server that can lock the file
// of another one knows that the other is dead, and by its tag finds what that has left
// running. The files of living servers stay locked, so their commands are safe.

// ownerLock is the file of a living server.
type ownerLock struct{ file *os.File }

func lockDir(state string) string { return filepath.Join(state, "servers") }

// takeOwnerLock writes and locks the file of this server. The file gets its name when
// it is locked, so that no other server finds it unlocked and kills the commands of
// this one.
func takeOwnerLock(state string, m serverTag, c *cgroups) (*ownerLock, error) {
	dir := lockDir(state)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot lock the file of this server: %w", err)
	}
	// The file gets its name when it is locked, so that no server finds it
	// unlocked. It is no atomicfile: the lock is of the open file, and ends with the
	// machine.
	temp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return nil, fmt.Errorf("cannot lock the file of this server: %w", err)
	}
	base := ""
	if c != nil {
		base = c.base
	}
	_, err = fmt.Fprintf(temp, "%s\n%d\n", base, os.Getpid())
	if err == nil {
		err = flock.Try(temp)
	}
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, m.String()))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the file of this server: %w", err), os.Remove(temp.Name()), temp.Close())
	}
	return &ownerLock{temp}, nil
}

// release unlocks and removes the file.
func (l *ownerLock) release() error {
	return errors.Join(os.Remove(filepath.Join(filepath.Dir(l.file.Name()), filepath.Base(l.name()))), l.file.Close())
}

// name returns the present path of the file.
func (l *ownerLock) name() string {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", l.file.Fd()))
	if err != nil {
		return l.file.Name()
	}
	return path
}

// reap ends what dead servers with the same state directory have left running,
// and returns the number of those processes.
func (e *Engine) reap() (int, error) {
	if e.ownerLock == nil {
		return 0, nil
	}
	dir := filepath.Dir(e.ownerLock.name())
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("cannot look for dead servers: %w", err)
	}
	ended := 0
	for _, entry := range entries {
		m, ok := parseServerTag(entry.Name())
		if !ok || m == e.tag {
			continue
		}
		n, err := reapServer(filepath.Join(dir, entry.Name()), m)
		ended += n
		if err != nil {
			return ended, err
		}
	}
	return ended, nil
}

// reapServer ends what the server of one file has left running, if that server is dead.
// A file that it cannot read is no error: that server has ended meanwhile, or it is
// another user's.
func reapServer(path string, m serverTag) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		// The server has ended regularly meanwhile, or it is another user's,
		// whose commands this one could not end either.
		return 0, nil
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return 0, nil
	}
	base, rest, _ := strings.Cut(string(content), "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(rest))
	if !lockOfDead(file, pid) {
		return 0, nil
	}
	if _, err := os.Stat(path); err != nil {
		return 0, nil // another server was faster
	}
	ended := endSurvivors(m, base)
	return ended, os.Remove(path)
}

// lockOfDead locks the file of a server if that server is dead. Its zygotes share its
// descriptors and with them the lock, but end right after it; so lockOfDead waits a
// moment.
func lockOfDead(file *os.File, pid int) bool {
	limit := time.Now().Add(forceLimit)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if flock.Try(file) == nil {
			return true
		}
		if running(pid) || time.Now().After(limit) {
			return false // the server lives, or processes hold the file that cannot be seen from here
		}
		time.Sleep(pause)
	}
}

// endSurvivors kills the processes with tags of a dead server, and its control groups,
// and returns how many processes these were. The path of the group comes from a file,
// so it must bear the tag of that server.
func endSurvivors(m serverTag, base string) int {
	match := func(one descendantTag) bool { return one.of(m) }
	ended := len(tagged(match))
	limit := time.Now().Add(forceLimit)
	if filepath.Base(base) == cgroupPrefix+m.String() { // the content of the file is not trusted further
		_ = clearCgroup(base)
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		killTagged(match, 0)
		if len(tagged(match)) == 0 || time.Now().After(limit) {
			return ended
		}
		time.Sleep(pause)
	}
}
