package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// doors are the Unix sockets of a session sandbox whose filter asks the server about
// them. A command that makes a Unix stream socket gets one end of a pair. It is
// connected from birth, so that the kernel never connects it elsewhere; the server
// keeps the other end. A connect to the path of a door hands that end to the door. A
// path contains a token that only the door's own command is told.
//
// For that reason it is safe to answer a connect by Continue: the socket is one of
// the internet, which other rules cover, or an end of a pair, for which the kernel
// returns EISCONN at best.
type doors struct {
	mu      sync.Mutex
	waiting map[uint64]int // the server's ends of pairs, by the inode of the other end
	open    map[string]*openDoor
}

// openDoor is one door, for as long as its command runs.
type openDoor struct {
	serve   func(context.Context, *os.File)
	ctx     context.Context //nolint:containedctx // the door's own life, ended by close
	close   context.CancelFunc
	conns   map[*os.File]bool
	serving sync.WaitGroup
}

// Bounds of a session sandbox. Beyond them, calls fail as they do in a process that
// has too many files open.
const (
	maxWaiting     = 64
	maxConnections = 32 // of a door
)

func newDoors() *doors { return &doors{waiting: map[uint64]int{}, open: map[string]*openDoor{}} }

// admit opens doors for one command. It returns their paths by name; end closes the
// doors and waits until their Serve functions have returned.
func (d *doors) admit(list []Door) (paths map[string]string, end func()) {
	paths = map[string]string{}
	var mine []*openDoor
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, door := range list {
		path := doorsDir + rand.Text() + "/" + door.Name
		ctx, end := context.WithCancel(context.Background())
		o := &openDoor{serve: door.Serve, conns: map[*os.File]bool{}, ctx: ctx, close: end}
		paths[door.Name], d.open[path] = path, o
		mine = append(mine, o)
	}
	return paths, func() {
		d.mu.Lock()
		for _, path := range paths {
			delete(d.open, path)
		}
		for _, o := range mine {
			o.close()
			for conn := range o.conns {
				_ = conn.Close()
			}
		}
		d.mu.Unlock()
		for _, o := range mine {
			o.serving.Wait()
		}
	}
}

// answer answers the system calls that the filter asks about because of doors, and
// reports whether this is one.
func (d *doors) answer(c proc.Call) bool {
	switch c.Number() {
	case unix.SYS_SOCKET:
		d.socket(c)
	case unix.SYS_CONNECT:
		d.connect(c)
	default:
		return false
	}
	return true
}

// socketTypes masks the type in socket's second argument, which also has flags.
const socketTypes = 0xf

// socket gives a process one end of a pair.
func (d *doors) socket(c proc.Call) {
	kind := uint32(c.Argument(1))
	if kind&socketTypes != unix.SOCK_STREAM {
		c.Return(unix.EAFNOSUPPORT) // as without doors
		return
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		c.Return(unix.ENFILE)
		return
	}
	ours, theirs := pair[0], pair[1]
	defer func() { _ = unix.Close(theirs) }()
	var st unix.Stat_t
	err = unix.Fstat(theirs, &st)
	if err == nil && kind&unix.SOCK_NONBLOCK != 0 {
		err = unix.SetNonblock(theirs, true)
	}
	if err != nil || !d.wait(st.Ino, ours) {
		_ = unix.Close(ours)
		c.Return(unix.EMFILE)
		return
	}
	if c.Give(theirs, kind&unix.SOCK_CLOEXEC != 0) != nil { // it was killed, or may have no more descriptors
		c.Return(unix.EMFILE) // and our end is forgotten with the next socket
	}
}

// wait keeps the server's end of a pair until the other one is connected, and
// reports whether there is room for it.
func (d *doors) wait(ino uint64, ours int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetLeft()
	if len(d.waiting) >= maxWaiting {
		return false
	}
	d.waiting[ino] = ours
	return true
}

// forgetLeft closes pairs whose other end is closed, because no process can connect
// them any more. The caller holds d.mu.
func (d *doors) forgetLeft() {
	for ino, fd := range d.waiting {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if n, err := unix.Poll(poll, 0); err == nil && n > 0 {
			delete(d.waiting, ino)
			_ = unix.Close(fd)
		}
	}
}

// connect hands the server's end of a pair to the door that the process names.
func (d *doors) connect(c proc.Call) {
	ino, is := socketOf(c)
	if !is || !d.waits(ino) {
		c.Continue()
		return
	}
	path, err := socketPath(c)
	if err != nil || !c.Valid() {
		c.Return(unix.ECONNREFUSED)
		return
	}
	c.Return(d.enter(ino, path))
}

func (d *doors) waits(ino uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, waits := d.waiting[ino]
	return waits
}

// enter lets a door serve a pair.
func (d *doors) enter(ino uint64, path string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	fd, waits := d.waiting[ino]
	o := d.open[path]
	switch {
	case !waits:
		return unix.EISCONN // another thread was quicker
	case o == nil:
		return unix.ECONNREFUSED
	case len(o.conns) >= maxConnections:
		return unix.EAGAIN
	}
	delete(d.waiting, ino)
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return unix.ECONNREFUSED
	}
	conn := os.NewFile(uintptr(fd), path)
	o.conns[conn] = true
	o.serving.Go(func() {
		o.serve(o.ctx, conn)
		_ = conn.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(o.conns, conn)
	})
	return 0
}

// close closes pairs that were never connected. No command may run then.
func (d *doors) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ino, fd := range d.waiting {
		delete(d.waiting, ino)
		_ = unix.Close(fd)
	}
}

// socketOf returns the inode of the socket that a connect is about. It fails for a
// process that the server may not inspect (ssh-add outside of namespaces); such a
// connect goes to no door.
func socketOf(c proc.Call) (uint64, bool) {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.PID(), int32(c.Argument(0))))
	inner, is := strings.CutPrefix(link, "socket:[")
	if err != nil || !is {
		return 0, false
	}
	ino, err := strconv.ParseUint(strings.TrimSuffix(inner, "]"), 10, 64)
	return ino, err == nil
}

// socketPath reads the path of a connect's address: struct sockaddr_un.
func socketPath(c proc.Call) (string, error) {
	const family, whole = 2, unix.SizeofSockaddrUnix
	length := uint32(c.Argument(2))
	if length <= family || length > whole {
		return "", unix.EINVAL
	}
	path, err := c.Text(c.Argument(1) + family)
	if err != nil {
		return "", err
	}
	return path[:min(len(path), int(length)-family)], nil
}
