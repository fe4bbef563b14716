//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"tipstaff/internal/flock"
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

	making sync.Mutex // held while something is made in dev
}

const (
	scratchPrefix = "tipstaff-"
	lockName      = "lock"
)

// newScratch makes the directory in temp, which is canonical.
func newScratch(temp string) (*scratch, error) {
	// It gets its name after it is locked, so that no other server finds it
	// unlocked.
	fresh, err := os.MkdirTemp(temp, ".new-"+scratchPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for temporary files: %w", err)
	}
	dir := filepath.Join(temp, strings.TrimPrefix(filepath.Base(fresh), ".new-"))
	s := &scratch{dir: dir, empty: filepath.Join(dir, "empty"), dev: filepath.Join(dir, "dev")}
	s.lock, err = lockFile(filepath.Join(fresh, lockName), os.O_CREATE)
	if err == nil {
		err = os.WriteFile(filepath.Join(fresh, "empty"), nil, 0o400)
	}
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make a directory for temporary files: %w", err), removeTree(fresh, nil))
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

// sandboxBytes is more than a session sandbox takes on the disk.
const sandboxBytes = 512 << 10

// explainFull says that an error is because of the full disk, if it is.
func (s *scratch) explainFull(err error) error {
	// A disk may also have no room for more files, or it is another one.
	if free, ok := freeOn(s.dir); errors.Is(err, unix.ENOSPC) && ok && free < sandboxBytes {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// close removes the directory. What is not gone when ended is closed is removed by the
// next server.
func (s *scratch) close(ended <-chan struct{}) error {
	return errors.Join(removeScratch(s.dir, ended), s.lock.Close())
}

// removeScratch removes a scratch directory, the lock last: by it a server recognizes
// what another one has left.
func removeScratch(dir string, ended <-chan struct{}) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && err == nil {
			err = removeTree(filepath.Join(dir, e.Name()), ended)
		}
	}
	if err == nil {
		err = removeTree(dir, nil)
	}
	if errors.Is(err, errWalkEnded) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// lockFile opens a file and locks it; it fails if another process holds the lock.
func lockFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock.Try(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeDead removes the scratch directories that servers without a living
// process have left, of this user only. A living server holds a lock on its
// own. What is left when ended is closed is for the next server.
func removeDead(temp string, ended <-chan struct{}) {
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
			_ = removeScratch(dir, ended)
			_ = lock.Close()
		}
	}
}
