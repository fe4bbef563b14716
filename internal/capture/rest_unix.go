//go:build unix

package capture

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// mostRest is more than any pipe of ours holds. Whoever else has the other end may
// write on while we read.
const mostRest = 1 << 20

// Rest reads into b what is in the pipe r and waits for nothing. It is for when
// Drain has ended by a deadline: on a machine that is busy the deadline may pass
// before Drain has had a chance to run, and what a program has written before its
// end is still there.
func Rest(b *Buffer, r *os.File) {
	raw, err := r.SyscallConn()
	if err != nil || r.SetReadDeadline(time.Time{}) != nil {
		return // it is closed, or no pipe
	}
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	for total := 0; total < mostRest; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			var err error
			for n, err = syscall.Read(int(fd), buf[:]); errors.Is(err, syscall.EINTR); {
				n, err = syscall.Read(int(fd), buf[:])
			}
			return true
		})
		if err != nil || n <= 0 {
			return // the end, or nothing there now
		}
		_, _ = b.Write(buf[:n])
		total += n
	}
}
