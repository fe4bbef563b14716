//go:build linux

package guard

import (
	"sync"

	"golang.org/x/sys/unix"
)

// blanks are unnamed empty files, one for each directory that commands may
// write. Filling and naming a prepared file takes a tenth of a millisecond.
// Making one on an idle disk takes several times as long, and occasionally
// milliseconds.
type blanks struct {
	mu sync.Mutex
	of map[string]int // descriptors by directory; -1: the file system does not support unnamed files
}

// refill makes a blank for a directory that has none.
func (b *blanks) refill(root string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.of[root]; there || b.of == nil {
		return
	}
	fd, err := unix.Open(root, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		fd = -1
	}
	b.of[root] = fd
}

// take returns the blank of a directory, or -1 if there is none. The caller
// closes it.
func (b *blanks) take(root string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	fd, there := b.of[root]
	if !there || fd < 0 {
		return -1
	}
	delete(b.of, root)
	return fd
}

// close closes all blanks and stops refill from making more.
func (b *blanks) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fd := range b.of {
		_ = closed(fd)
	}
	b.of = nil
}
