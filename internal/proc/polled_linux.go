//go:build linux && (amd64 || arm64)

package proc

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pollKind says where a call has what it waits for, and for how long.
type pollKind int

const (
	notPolling pollKind = iota
	byPoll              // poll(fds, n, milliseconds)
	byPPoll             // ppoll(fds, n, *timespec, …)
	bySelect            // select, pselect6(n, in, out, except, *timeval or *timespec, …)
	byEpoll             // epoll_wait, epoll_pwait(fd, …, …, milliseconds, …)
	byEpoll2            // epoll_pwait2(fd, …, …, *timespec, …)
)

const (
	// shortWait is the longest time after which a program may look whether it is
	// to end, and still counts as one that waits without end. One that wakes up
	// less often has something to do then, as top has.
	shortWait = 250 * time.Millisecond
	// maxPolled is how many descriptors a program that waits for input waits for.
	maxPolled = 256
)

// polled returns the descriptors that a call waits for, to read from them, and
// whether it waits until there is something. A program that waits for anything
// else, too, is not understood, and gives false.
func (c sleep) polled() (fds []int, endless bool) {
	switch pollCalls[c.number] {
	case byPoll:
		return c.inPoll(), c.milliseconds(2)
	case byPPoll:
		return c.inPoll(), c.span(2)
	case bySelect:
		fds, ok := c.inSelect()
		return fds, ok && c.span(4)
	case byEpoll:
		return c.inEpoll(), c.milliseconds(3)
	case byEpoll2:
		return c.inEpoll(), c.span(3)
	}
	return nil, false
}

// milliseconds reports whether an argument is no time limit, or a short one.
func (c sleep) milliseconds(arg int) bool {
	n := int32(c.arg[arg])
	return n < 0 || time.Duration(n)*time.Millisecond <= shortWait
}

// span is the same for an argument that points to a time. timespec and timeval
// differ in the second half, and both are short if that is all there is of
// them, as far as it matters here.
func (c sleep) span(arg int) bool {
	if c.arg[arg] == 0 {
		return true
	}
	b := c.peek(c.arg[arg], 16)
	if b == nil {
		return false
	}
	most := uint64(shortWait.Nanoseconds())
	if c.number == sysSelect {
		most = uint64(shortWait.Microseconds())
	}
	return binary.NativeEndian.Uint64(b) == 0 && binary.NativeEndian.Uint64(b[8:]) <= most
}

// inPoll reads a list of struct pollfd.
func (c sleep) inPoll() (fds []int) {
	const size = 8
	n := c.arg[1]
	if n > maxPolled {
		return nil
	}
	b := c.peek(c.arg[0], int(n)*size)
	for ; len(b) >= size; b = b[size:] {
		if fd := int32(binary.NativeEndian.Uint32(b)); fd >= 0 && binary.NativeEndian.Uint16(b[4:]) != 0 {
			fds = append(fds, int(fd))
		}
	}
	return fds
}

// inSelect reads the set of descriptors to read from. It is not understood if
// there are others to write to.
func (c sleep) inSelect() (fds []int, ok bool) {
	n := int(min(c.arg[0], maxPolled))
	words := (n + 63) / 64
	if c.arg[2] != 0 {
		for _, b := range c.peek(c.arg[2], words*8) {
			if b != 0 {
				return nil, false
			}
		}
	}
	b := c.peek(c.arg[1], words*8)
	for fd := range len(b) * 8 {
		if fd < n && b[fd/8]&(1<<(fd%8)) != 0 {
			fds = append(fds, fd)
		}
	}
	return fds, c.arg[0] <= maxPolled
}

// inEpoll reads what an epoll instance watches: proc_pid_fdinfo(5).
func (c sleep) inEpoll() (fds []int) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(c.pid) + "/fdinfo/" + strconv.FormatUint(c.arg[0]&0xffffffff, 10))
	if err != nil {
		return nil
	}
	const anything = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLPRI
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != "tfd:" {
			continue
		}
		fd, err := strconv.Atoi(f[1])
		events, err2 := strconv.ParseUint(f[3], 16, 32)
		if err == nil && err2 == nil && events&anything != 0 {
			fds = append(fds, fd)
		}
	}
	return fds
}

// peek reads the memory of the process that sleeps; nil if that cannot be read.
func (c sleep) peek(address uint64, n int) []byte {
	if n <= 0 || n > maxPolled*8 {
		return nil
	}
	b := make([]byte, n)
	got, err := unix.ProcessVMReadv(c.pid, []unix.Iovec{{Base: &b[0], Len: uint64(n)}}, []unix.RemoteIovec{{Base: uintptr(address), Len: n}}, 0)
	if err != nil || got != n {
		return nil
	}
	return b
}
