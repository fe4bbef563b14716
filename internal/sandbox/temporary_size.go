//go:build linux

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// temporaryBytes returns what the files in the directory of a session sandbox take on
// the disk, with those that commands have removed and still have open.
func (s *Sandbox) temporaryBytes(sess *sessionSandbox, commands []*Confined) (sum int64) {
	root, err := os.OpenRoot(sess.dir)
	if err != nil {
		return 0 // it is gone
	}
	defer func() { _ = root.Close() }()
	sum = sizeOf(root, ".", map[uint64]bool{})
	var st unix.Stat_t
	if unix.Stat(s.scratch.empty, &st) != nil {
		return sum
	}
	asked := map[*proc.Enclosure]bool{}
	for _, c := range commands {
		if n := c.Confinement; !asked[n] {
			asked[n] = true
			sum += n.Unlinked(st.Dev)
		}
	}
	return sum
}

// sizeOf returns what the files in a directory take. Commands may change it meanwhile;
// root lets no link lead out of it. links holds files with several names that were
// counted.
func sizeOf(root *os.Root, dir string, links map[uint64]bool) (sum int64) {
	entries, again := listOf(root, dir)
	defer again()
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // gone
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && (st.Nlink == 1 || e.IsDir() || !links[st.Ino]) {
			sum += st.Blocks * 512
			if st.Nlink > 1 && !e.IsDir() {
				links[st.Ino] = true
			}
		}
		if e.IsDir() {
			sum += sizeOf(root, filepath.Join(dir, e.Name()), links)
		}
	}
	return sum
}

// listOf lists a directory. One that a command has closed to its own user is opened
// for that time; again closes it.
func listOf(root *os.Root, dir string) (entries []fs.DirEntry, again func()) {
	again = func() {}
	f, err := openUnseen(root, dir)
	if errors.Is(err, fs.ErrPermission) {
		info, failure := root.Lstat(dir)
		if failure != nil || !info.IsDir() || root.Chmod(dir, info.Mode().Perm()|0o700) != nil {
			return nil, again
		}
		again = func() { _ = root.Chmod(dir, info.Mode().Perm()) }
		f, err = openUnseen(root, dir)
	}
	if err != nil {
		return nil, again
	}
	defer func() { _ = f.Close() }()
	entries, _ = f.ReadDir(-1)
	return entries, again
}

// openUnseen opens a directory so that its reading leaves no time on it: a sandbox
// serves another session only if its directories are as they were made.
func openUnseen(root *os.Root, dir string) (*os.File, error) {
	f, err := root.OpenFile(dir, os.O_RDONLY|unix.O_NOATIME, 0)
	if errors.Is(err, unix.EPERM) { // another user's
		f, err = root.Open(dir)
	}
	return f, err
}
