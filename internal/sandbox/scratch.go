//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// scratch is the directory of a server for files that its commands need and no one
// keeps, above all their temporary directories. The server holds a lock on it for as
// long as it lives, so that the next server can recognize and remove what a killed
// one has left.
type scratch struct {
	dir   string
	lock  *os.File
	empty string // a file with nothing in it
	dev   string // the /dev of all commands in namespaces; made when the first needs it

	ballast ballast

	making sync.Mutex // held while something is made in dev
}

const (
	scratchPrefix = "tipstaff-"
	lockName      = "lock"
)

// newScratch makes the directory in temp, which is canonical.
func newScratch(temp string) (*scratch, error) {
	removeDead(temp)
	// It gets its name after it is locked, so that no other server finds it
	// unlocked.
	fresh, err := os.MkdirTemp(temp, ".new-"+scratchPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for temporary files: %w", err)
	}
	dir := filepath.Join(temp, strings.TrimPrefix(filepath.Base(fresh), ".new-"))
	s := &scratch{dir: dir, empty: filepath.Join(dir, "empty"), dev: filepath.Join(dir, "dev"), ballast: ballast{path: filepath.Join(dir, "ballast")}}
	s.lock, err = lockFile(filepath.Join(fresh, lockName), os.O_CREATE)
	if err == nil {
		err = os.WriteFile(filepath.Join(fresh, "empty"), nil, 0o400)
	}
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make a directory for temporary files: %w", err), removeTree(fresh))
	}
	return s, nil
}

// makeDev makes the entries of every /dev besides the devices.
func (s *scratch) makeDev() error {
	s.making.Lock()
	defer s.making.Unlock()
	for _, name := range []string{"pts", "shm"} {
		if err := os.MkdirAll(filepath.Join(s.dev, name), 0o755); err != nil { //nolint:gosec // a mount point
			return err
		}
	}
	for name, target := range deviceLinks {
		if err := os.Symlink(target, filepath.Join(s.dev, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}

func (s *scratch) close() error {
	return errors.Join(removeTree(s.dir), s.lock.Close())
}

// lockFile opens a file and locks it; it fails if another process holds the lock.
func lockFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeDead removes the directories of killed servers. It skips those of other
// users; those of living servers cannot be locked.
func removeDead(temp string) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		dir := filepath.Join(temp, e.Name())
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Getuid() {
			continue
		}
		if lock, err := lockFile(filepath.Join(dir, lockName), 0); err == nil {
			_ = removeTree(dir)
			_ = lock.Close()
		}
	}
}

// removeTree removes a directory, even if a command has removed permissions from
// directories in it.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // it is ours, and about to go
		}
		return nil
	})
	return os.RemoveAll(dir)
}
