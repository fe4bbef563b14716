//go:build linux && (amd64 || arm64)

package proc

import (
	"math"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Making a process copies the table of descriptors, and exec closes them one by
// one. With ten thousand open descriptors that costs as much as the rest of a
// start, with two hundred a thirtieth of it. A child that shares the table, and
// then unshares only its low end, copies next to nothing. So the engine
// reserves a few low descriptors, and puts the descriptors of a child there.

// fdSlots are the reserved descriptors, four for each child that is being made.
type fdSlots struct {
	null int
	mu   sync.Mutex
	all  []fdSlot // lowest first
	busy []bool
}

// fdSlot is one set: standard input, output, error, directory.
type fdSlot [4]int

const (
	slotCount = 16
	// Only low descriptors are worth reserving.
	slotCeiling = 1024
)

// none is the index of no slot.
const none = -1

// newFDSlots reserves descriptors; none if the low ones are in use.
func newFDSlots(null int) *fdSlots {
	s := &fdSlots{null: null}
	if unix.CloseRange(math.MaxUint32, math.MaxUint32, 0) != nil {
		return s // kernels before 5.9 cannot unshare a part of the table
	}
	for range slotCount {
		var one fdSlot
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
		}
		s.all, s.busy = append(s.all, one), append(s.busy, false)
	}
	return s
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func (s *fdSlots) close() {
	for _, one := range s.all {
		closeFDs(one[:])
	}
}

// take takes the lowest free slot: the lower it is, the less is copied.
func (s *fdSlots) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.busy, false)
	if i != none {
		s.busy[i] = true
	}
	return i
}

func (s *fdSlots) giveBack(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[i] = false
}

// fill makes the descriptors of a slot copies of fds. Before, each is
// /dev/null.
func (s *fdSlots) fill(one, fds fdSlot) error {
	for i, fd := range fds {
		if fd == s.null {
			continue
		}
		if err := unix.Dup3(fd, one[i], unix.O_CLOEXEC); err != nil {
			s.empty(one, fds)
			if _, closed := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == unix.EBADF && closed == nil {
				err = unix.EMFILE // dup(2): the limit is now below the reserved descriptors
			}
			return err
		}
	}
	return nil
}

// empty undoes fill: a pipe ends only when no descriptor of it is open.
func (s *fdSlots) empty(one, fds fdSlot) {
	for i, fd := range fds {
		if fd != s.null {
			_ = unix.Dup3(s.null, one[i], unix.O_CLOEXEC)
		}
	}
}

// descriptors arranges the descriptors that a child takes over, in a reserved
// slot if one is free. The caller calls giveBack when the child has started.
func (e *Engine) descriptors(l Launch) (fds streams, giveBack func(), err error) {
	want := fdSlot{e.orNull(l.Stdin), e.orNull(l.Stdout), e.orNull(l.Stderr), int(l.Dir)}
	if len(l.More) > 0 || l.File != nil {
		return manyDescriptors(l, want)
	}
	if i := e.slots.take(); i != none {
		one := e.slots.all[i]
		if err := e.slots.fill(one, want); err != nil {
			e.slots.giveBack(i)
			return streams{}, nil, &StepError{Step: "arrange descriptors", Errno: errnoOf(err)}
		}
		beyond := uintptr(slices.Max(one[:]) + 1)
		return streams{in: one[0], out: one[1], err: one[2], dir: one[3], beyond: beyond}, func() { e.slots.empty(one, want); e.slots.giveBack(i) }, nil
	}
	// Without a slot. A descriptor below 3 would be overwritten before it is
	// used.
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
	return streams{in: want[0], out: want[1], err: want[2], dir: want[3], beyond: nothingBeyond}, func() { closeFDs(copies) }, nil
}

// manyDescriptors arranges more descriptors than a slot has: copies above all
// those numbers that the child will use.
func manyDescriptors(l Launch, want fdSlot) (fds streams, giveBack func(), err error) {
	var copies []int
	above := 3 + len(l.More)
	take := func(fd int) (c int) {
		if err == nil {
			c, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, above)
		}
		if err == nil {
			copies = append(copies, c)
		}
		return c
	}
	fds = streams{in: take(want[0]), out: take(want[1]), err: take(want[2]), dir: take(want[3]), beyond: nothingBeyond}
	for _, f := range l.More {
		fds.more = append(fds.more, take(int(f.Fd())))
	}
	if l.File != nil {
		fds.file = take(int(l.File.Fd()))
	}
	if err != nil {
		closeFDs(copies)
		return streams{}, nil, &StepError{Step: "arrange descriptors", Errno: errnoOf(err)}
	}
	return fds, func() { closeFDs(copies) }, nil
}

func (e *Engine) orNull(f *os.File) int {
	if f == nil {
		return e.null
	}
	return int(f.Fd())
}
