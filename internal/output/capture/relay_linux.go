package capture

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// relay reads a pipe through a second one. A reader holds the pipe's lock while
// it copies, and so does a writer, so the two wait for each other. splice(2)
// moves whole pages without copying, so the writer gets its pipe back at once
// and fills it while the reader copies from the second one. On two processors
// this makes reading 50 % faster.
type relay struct {
	from *os.File
	raw  syscall.RawConn
	size int // capacity of the second pipe, at most
	// The second pipe. It is empty unless held is set, so neither of its ends
	// ever blocks.
	read, write int
	held        int64
	broken      bool // splice does not work here: read directly
}

// relayed returns a faster reader of r if there is one, else r itself. Both
// pipes get a capacity of size bytes, or what the kernel grants. It uses two
// descriptors, which release closes.
func relayed(r io.Reader, size int) (faster io.Reader, release func()) {
	f, ok := r.(*os.File)
	if !ok {
		return r, func() {}
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return r, func() {}
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return r, func() {} // no descriptors left
	}
	if size > chunk {
		widen(fds[1], size)
		_ = raw.Control(func(fd uintptr) { widen(int(fd), size) })
	}
	release = func() {
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
	}
	return &relay{from: f, raw: raw, size: size, read: fds[0], write: fds[1]}, release
}

// widen sets the capacity of a pipe. If the kernel refuses
// (pipe-user-pages-soft), the pipe stays as it is, and is slower.
func widen(pipe, size int) {
	_, _ = unix.FcntlInt(uintptr(pipe), unix.F_SETPIPE_SZ, size)
}

// Read waits for r.from only, up to its deadline.
func (r *relay) Read(p []byte) (int, error) {
	if r.held == 0 && !r.broken {
		if err := r.move(); errors.Is(err, io.EOF) {
			return 0, err
		} else if err != nil {
			r.broken = true
		}
	}
	if r.held == 0 {
		return r.from.Read(p) // returns the reason, if there is one
	}
	for {
		n, err := unix.Read(r.read, p)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		r.held -= int64(max(n, 0))
		return max(n, 0), err
	}
}

// move waits for data and moves as much as fits.
func (r *relay) move() error {
	var moved int64
	var failed error
	err := r.raw.Read(func(fd uintptr) bool {
		for {
			n, err := unix.Splice(int(fd), nil, r.write, nil, r.size, unix.SPLICE_F_NONBLOCK)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			moved, failed = int64(n), err
			return !errors.Is(err, unix.EAGAIN)
		}
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case moved == 0:
		return io.EOF
	}
	r.held = moved
	return nil
}
