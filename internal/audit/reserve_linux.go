package audit

import (
	"errors"
	"fmt"
	"syscall"
)

// reserved is a file with a reserve. One goroutine at a time writes, truncates or
// closes it.
type reserved struct {
	*segment
	size, end int64 // of the content, and of the blocks
	without   bool  // the file system cannot do this
}

// withReserve gives a file of a size a reserve.
func withReserve(s *segment, size int64) file { return &reserved{segment: s, size: size} }

// fallocateKeepSize is FALLOC_FL_KEEP_SIZE of linux/falloc.h.
const fallocateKeepSize = 1

// Write writes, and fills up the reserve when half of it is used.
func (r *reserved) Write(p []byte) (int, error) {
	n, err := r.segment.Write(p)
	r.size += int64(n)
	if err == nil && r.end-r.size < reserveBytes/2 {
		r.fill(reserveBytes)
	}
	return n, err
}

// fill allocates blocks behind the end of the file, if the disk has plenty of space
// left. It uses FALLOC_FL_KEEP_SIZE, so readers do not see them.
func (r *reserved) fill(bytes int64) {
	var st syscall.Statfs_t
	if r.without || r.onDescriptor(func(fd int) error { return syscall.Fstatfs(fd, &st) }) != nil || int64(st.Bavail)*st.Frsize < reserveShare*bytes {
		return
	}
	err := r.onDescriptor(func(fd int) error { return syscall.Fallocate(fd, fallocateKeepSize, r.size, bytes) })
	if err == nil {
		r.end = r.size + bytes
	}
	r.without = errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS)
}

func (r *reserved) onDescriptor(f func(fd int) error) error {
	conn, err := r.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// mayStart fails if only the part of the reserve is left that is for the ends of
// commands.
func (r *reserved) mayStart() error {
	if r.end == 0 || r.end-r.size >= reserveForEnds {
		return nil
	}
	if r.fill(reserveForEnds); r.end-r.size >= reserveForEnds {
		return nil
	}
	return fmt.Errorf("the disk is full, and what is left of the trail's reserve is for the ends of commands that run: %w", syscall.ENOSPC)
}

// Truncate gives the reserve back, too.
func (r *reserved) Truncate(size int64) error {
	err := r.segment.Truncate(size)
	if err == nil {
		r.size, r.end = size, min(r.end, size)
	}
	return err
}

// Close gives the reserve back.
func (r *reserved) Close() error {
	if r.end > r.size {
		_ = r.segment.Truncate(r.size) // a file with blocks beyond its end is whole
	}
	return r.segment.Close()
}
