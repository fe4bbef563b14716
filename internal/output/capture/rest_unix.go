//go:build unix

package capture

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// mostRest is more than any pipe here holds. It ends the read if another
// process keeps writing.
const mostRest = 1 << 20

// Rest reads what is in the pipe r into b, without blocking. Call it when Drain
// has ended by a deadline: on a busy machine the deadline may pass before Drain
// has run, and the last output of a program is still in the pipe.
func Rest(b *Buffer, r *os.File) {
	raw, err := r.SyscallConn()
	if err != nil || r.SetReadDeadline(time.Time{}) != nil {
		return // it is closed, or not a pipe
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
			return // end of the stream, or nothing to read now
		}
		_, _ = b.Write(buf[:n])
		total += n
	}
}
