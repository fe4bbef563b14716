//go:build linux && (amd64 || arm64)

package proc

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Unlinked returns how many bytes on a device are taken by files that have no name any
// more and that commands of the enclosure have open. Quotas that walk directories do
// not see these. Where commands are known by their tag, a process that is younger than
// a second may be left out.
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

// unlinkedOf adds up such files of one process. counted are the inodes that were
// counted before.
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
