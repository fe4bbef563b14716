//go:build linux && (amd64 || arm64)

package proc

import (
	"math"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Making a process copies the table of descriptors, which costs as much as all
// the rest when a server has ten thousand open. A child that shares the table
// and unshares only its low end copies next to nothing; so the engine keeps a
// few low descriptors in reserve, and puts what a child is to take over there.

// slots are the reserved descriptors, four for each child that is being made.
type slots struct {
	null     int
	unshares bool // a child that shares the table can copy it, or a part of it, later
	limit    int  // all of them are below
	free     chan slot
	all      []slot
}

// slot is one set: standard input, output, error, directory.
type slot [4]int

const (
	slotCount = 16
	// smallTable is how large a table may be that costs less to copy than to
	// arrange: new descriptors are the lowest that are free, so if this one is not
	// open there are seldom others above.
	smallTable = 256
	// lowest descriptors are worth reserving only where they are low.
	slotCeiling = 1024
)

// newSlots reserves descriptors. There may be none, if the low ones are taken.
func newSlots(null int) *slots {
	s := &slots{null: null, free: make(chan slot, slotCount)}
	if unix.CloseRange(math.MaxUint32, math.MaxUint32, 0) != nil {
		return s // a kernel before 5.9 cannot unshare a part of the table
	}
	s.unshares = true
	for range slotCount {
		var one slot
		for i := range one {
			fd, err := unix.FcntlInt(uintptr(null), unix.F_DUPFD_CLOEXEC, 3)
			if err != nil || fd >= slotCeiling {
				if err == nil {
					_ = unix.Close(fd)
				}
				closeFDs(one[:i])
				return s
			}
			one[i] = fd
			s.limit = max(s.limit, fd+1)
		}
		s.all = append(s.all, one)
		s.free <- one
	}
	return s
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func (s *slots) close() {
	for _, one := range s.all {
		closeFDs(one[:])
	}
}

// fill makes the descriptors of a slot mean what fds mean.
func (s *slots) fill(one slot, fds slot) error {
	for i, fd := range fds {
		if err := unix.Dup3(fd, one[i], unix.O_CLOEXEC); err != nil {
			s.empty(one)
			if _, closed := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == unix.EBADF && closed == nil {
				err = unix.EMFILE // the limit has been lowered below the reserved ones: dup(2)
			}
			return err
		}
	}
	return nil
}

// empty takes the meaning away: a pipe ends only when nobody holds it.
func (s *slots) empty(one slot) {
	for _, fd := range one {
		_ = unix.Dup3(s.null, fd, unix.O_CLOEXEC)
	}
}

// descriptors arranges what a child takes over, in reserved descriptors where
// there are any left. giveBack ends the arrangement when the child has started.
func (e *Engine) descriptors(l Launch) (fds streams, giveBack func(), err error) {
	want := slot{e.orNull(l.Stdin), e.orNull(l.Stdout), e.orNull(l.Stderr), int(l.Dir)}
	if slices.Max(want[:]) < smallTable && slices.Min(want[:]) > 2 && !isOpen(smallTable) {
		return streams{want[0], want[1], want[2], want[3], false}, func() {}, nil
	}
	select {
	case one := <-e.slots.free:
		if err := e.slots.fill(one, want); err != nil {
			e.slots.free <- one
			return streams{}, nil, &StepError{Step: "arrange descriptors", Errno: errnoOf(err)}
		}
		return streams{one[0], one[1], one[2], one[3], true}, func() { e.slots.empty(one); e.slots.free <- one }, nil
	default:
	}
	// The plain way. A descriptor below 3 would be overwritten before its turn.
	var copies []int
	for i, fd := range want {
		if fd > 2 {
			continue
		}
		c, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			closeFDs(copies)
			return streams{}, nil, &StepError{Step: "arrange descriptors", Errno: errnoOf(err)}
		}
		want[i] = c
		copies = append(copies, c)
	}
	return streams{want[0], want[1], want[2], want[3], false}, func() { closeFDs(copies) }, nil
}

func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

func (e *Engine) orNull(f *os.File) int {
	if f == nil {
		return e.null
	}
	return int(f.Fd())
}
