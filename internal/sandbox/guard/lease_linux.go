//go:build linux

package guard

import (
	"errors"
	"hash/maphash"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// leases tell when a watched file is opened for writing: fcntl(2), F_SETLEASE.
// Inotify reports no write through a memory mapping while the mapping exists,
// but a reader outside sees such a write at once. So each file that is not
// pinned gets a read lease. The kernel breaks the lease before the first write.
// From then on the file is read every millisecond until the lease can be taken
// again, which means that no process has the file open or mapped for writing.
//
// The opener waits until the lease is released, which happens at once. It does
// not matter whether the opener is a command: its writes are judged.
type leases struct {
	signals chan os.Signal
	wake    func() // wakes the thread that polls

	mu      sync.Mutex
	of      map[*item][]*lease
	written map[*lease]*item // files that may be written now
	n       int              // number of descriptors
	buf     [64 << 10]byte
}

type lease struct {
	fd  int // -1: the file system has no leases, or the file is another user's
	id  identity
	sum uint64 // hash of the content at the last check
	// askedFor is when the lease was last given up.
	askedFor time.Time
}

// mostLeases bounds the leases. In further files, a write through a mapping is
// noticed when the file is closed.
const mostLeases = 512

// leasePause is the interval at which a file without its lease is read.
const leasePause = time.Millisecond

// leaseRest is for how long a lease that was given up is not taken again. A program
// that writes a file again and again waits for the guard once, not each time.
const leaseRest = 100 * time.Millisecond

func (l *leases) start(wake func()) {
	l.of, l.written, l.wake, l.signals = map[*item][]*lease{}, map[*lease]*item{}, wake, make(chan os.Signal, 1)
	signal.Notify(l.signals, unix.SIGIO)
	go func(signals <-chan os.Signal) {
		for range signals {
			wake()
		}
	}(l.signals)
}

func (l *leases) close() {
	signal.Stop(l.signals)
	close(l.signals)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.of {
		for _, one := range list {
			l.drop(one)
		}
	}
	l.of = nil
}

// keep takes leases on the files of an item as it is now, and drops its other
// leases.
func (l *leases) keep(it *item, now content) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil || it.leaseless {
		return
	}
	before := map[identity]*lease{}
	for _, one := range l.of[it] {
		before[one.id] = one
	}
	var list []*lease
	if !it.Pinned && !it.Late {
		for path, id := range leasable(it.Path, now) {
			one := before[id]
			if one == nil && l.n < mostLeases {
				one = l.take(it, path, id)
			}
			if one != nil {
				list = append(list, one)
				delete(before, id)
			}
		}
	}
	for _, one := range before {
		l.drop(one)
	}
	if l.of[it] = list; len(list) == 0 {
		delete(l.of, it)
	}
}

// forget drops all leases of an item.
func (l *leases) forget(it *item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	it.leaseless = true
	for _, one := range l.of[it] {
		l.drop(one)
	}
	delete(l.of, it)
}

// leasable returns the files of an item that steer something.
func leasable(path string, now content) map[string]identity {
	files := map[string]identity{}
	if now.form == file {
		files[path] = now.id
	}
	for name, in := range now.names {
		if strings.HasSuffix(name, ".sample") && in.form == file {
			continue
		}
		maps.Copy(files, leasable(filepath.Join(path, name), in))
	}
	return files
}

// take opens a file and takes a lease on it. The caller holds l.mu.
func (l *leases) take(it *item, path string, id identity) *lease {
	dir, name, err := openParent(path)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	if _, now, err := stat(fd, "", unix.AT_EMPTY_PATH); err != nil || now != id {
		_ = unix.Close(fd)
		return nil
	}
	// By default the kernel signals the thread that took the lease, which may
	// have ended by then.
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETOWN, os.Getpid())
	l.n++
	one := &lease{fd: fd, id: id, sum: l.sum(fd)}
	l.regain(one, it)
	return one
}

// regain takes the lease, unless a process has the file open for writing. It
// reports whether the lease is held. The caller holds l.mu.
func (l *leases) regain(one *lease, it *item) bool {
	_, err := unix.FcntlInt(uintptr(one.fd), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		delete(l.written, one)
		return true
	case !errors.Is(err, unix.EAGAIN): // the file system has no leases
		l.drop(one)
	case l.written[one] == nil:
		l.written[one] = it
		l.wake()
	}
	return false
}

// drop releases a lease. The caller holds l.mu.
func (l *leases) drop(one *lease) {
	if one.fd >= 0 {
		_, _ = unix.FcntlInt(uintptr(one.fd), unix.F_SETLEASE, unix.F_UNLCK)
		_ = unix.Close(one.fd)
		l.n--
	}
	one.fd = -1
	delete(l.written, one)
}

// giveUp releases one lease that an opener waits for, and reports whether there
// was one. The opener may write at once, so the caller handles that before it
// calls giveUp again.
func (l *leases) giveUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for it, list := range l.of {
		for _, one := range list {
			if one.fd < 0 || l.written[one] != nil {
				continue
			}
			if kind, err := unix.FcntlInt(uintptr(one.fd), unix.F_GETLEASE, 0); err != nil || kind != unix.F_RDLCK {
				_, _ = unix.FcntlInt(uintptr(one.fd), unix.F_SETLEASE, unix.F_UNLCK)
				l.written[one], one.askedFor = it, time.Now()
				return true
			}
		}
	}
	return false
}

// look reads the files that may be written. It returns the items that have
// changed, and whether more changes may follow.
func (l *leases) look() (changed []*item, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for one, it := range l.written {
		held := time.Since(one.askedFor) > leaseRest && l.regain(one, it) // before the last read of the file
		if now := l.sum(one.fd); held || now != one.sum {
			one.sum = now
			changed = append(changed, it)
		}
	}
	return changed, len(l.written) > 0
}

var seed = maphash.MakeSeed()

// sum hashes the part of a file that is judged. The caller holds l.mu.
func (l *leases) sum(fd int) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for at := int64(0); at <= mostFile; {
		n, err := unix.Pread(fd, l.buf[:], at)
		if err != nil || n <= 0 {
			break
		}
		_, _ = h.Write(l.buf[:n])
		at += int64(n)
	}
	return h.Sum64()
}
