//go:build linux && (amd64 || arm64)

package proc

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Unlinked returns what files on a device take that have no name any more and that
// commands of the enclosure have open, in bytes. Where commands are known by their
// tag, a process that is younger than a second may be left out.
func (n *Enclosure) Unlinked(device uint64) (sum int64) {
	counted := map[uint64]bool{}
	n.engine.live.Range(func(_, one any) bool {
		if p, _ := one.(*Process); p.instance.in == n {
			for _, pid := range p.counted() {
				sum += unlinkedOf(pid, device, counted)
			}
		}
		return true
	})
	return sum
}

func unlinkedOf(pid int, device uint64, counted map[uint64]bool) (sum int64) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		var st unix.Stat_t
		if unix.Stat(filepath.Join(dir, e.Name()), &st) != nil || st.Nlink > 0 || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Dev != device || counted[st.Ino] {
			continue
		}
		counted[st.Ino] = true
		sum += st.Blocks * 512
	}
	return sum
}
