//go:build linux

package sandbox

import (
	"errors"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// fileBytes is what a file counts at least: an empty one and a directory take room on
// most disks, and elsewhere a number of which there are only so many.
const fileBytes = 4096

// temporaryBytes returns what the files in the directory of a session sandbox take on
// the disk, with those that commands have removed and still have open. ok is false if
// ended was closed meanwhile.
func (s *Sandbox) temporaryBytes(sess *sessionSandbox, commands []*Confined, ended <-chan struct{}) (sum int64, ok bool) {
	sum, ok = sizeOf(sess.dir, ended)
	var st unix.Stat_t
	if !ok || unix.Stat(s.scratch.empty, &st) != nil {
		return sum, ok
	}
	asked := map[*proc.Enclosure]bool{}
	for _, c := range commands {
		if n := c.Confinement; !asked[n] {
			asked[n] = true
			sum += n.Unlinked(st.Dev)
		}
	}
	return sum, true
}

// sizeOf returns what the files in a directory take, those with several names once.
// Commands may change it meanwhile. ok is false if ended was closed.
func sizeOf(dir string, ended <-chan struct{}) (sum int64, ok bool) {
	links := map[uint64]bool{}
	count := func(_ int, _ string, st *unix.Stat_t) error {
		if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			if links[st.Ino] {
				return nil
			}
			links[st.Ino] = true
		}
		sum += max(fileBytes, st.Blocks*512)
		return nil
	}
	walk := treeWalk{file: count, dir: count, ended: ended}
	err := walk.walk(dir)
	return sum, !errors.Is(err, errWalkEnded) // what cannot be visited is not counted
}
