//go:build linux

package guard

import (
	"sync"

	"golang.org/x/sys/unix"
)

// blanks are empty files without a name, one in each directory that commands may write.
// One that lies ready takes a text and a name in a tenth of a millisecond; to make one
// where the disk has rested takes several times as long, and now and then milliseconds.
type blanks struct {
	mu sync.Mutex
	of map[string]int // a descriptor by directory; -1: the file system has no such files
}

// refill makes a blank for a directory, if there is none.
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

// take gives the blank of a directory, which the caller closes; -1: there is none.
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

// close ends it: no blank is made any more.
func (b *blanks) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fd := range b.of {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	b.of = nil
}
