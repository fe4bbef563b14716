//go:build linux

package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// doors are the Unix sockets of the server in a session sandbox. A path contains a token
// that only the door's own command is told. No file is at that path: the server makes
// each connection of a command itself (see [sockets]), and this one to a socket of its
// own, whose file is gone before anybody learns of it.
type doors struct {
	mu   sync.Mutex
	open map[string]*openDoor
}

// openDoor is one door, for as long as its command runs.
type openDoor struct {
	serve    func(context.Context, *os.File)
	ctx      context.Context //nolint:containedctx // the door's own life, ended by close
	close    context.CancelFunc
	listener int
	file     int // O_PATH, of the listener's removed file
	conns    map[*os.File]bool
	serving  sync.WaitGroup
}

// maxConnections bounds those of a door. Beyond it, a connect fails as with a server that
// is busy.
const maxConnections = 32

// admit opens doors for one command. It returns their paths by name; end closes the
// doors and waits until their Serve functions have returned. dir is a directory of the
// server's for a moment's file.
func (d *doors) admit(list []Door, dir string) (paths map[string]string, end func(), err error) {
	paths = map[string]string{}
	var mine []*openDoor
	end = func() {
		d.mu.Lock()
		for _, path := range paths {
			delete(d.open, path)
		}
		for _, o := range mine {
			o.shut()
		}
		d.mu.Unlock()
		for _, o := range mine {
			o.serving.Wait()
		}
	}
	for _, door := range list {
		ctx, stop := context.WithCancel(context.Background())
		o := &openDoor{serve: door.Serve, conns: map[*os.File]bool{}, ctx: ctx, close: stop, listener: -1, file: -1}
		mine = append(mine, o)
		if err := o.listen(dir); err != nil {
			end()
			return nil, nil, fmt.Errorf("cannot open a door: %w", err)
		}
		path := doorsDir + rand.Text() + "/" + door.Name
		d.mu.Lock()
		paths[door.Name], d.open[path] = path, o
		d.mu.Unlock()
	}
	return paths, end, nil
}

// listen makes the socket at which a door listens. Who has no descriptor of its file
// cannot connect to it, because the file has no name any more.
func (o *openDoor) listen(dir string) (err error) {
	in, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(in) }()
	if o.listener, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return err
	}
	name := "door-" + rand.Text()
	if err = unix.Bind(o.listener, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", in, name)}); err != nil {
		return err
	}
	o.file, err = unix.Openat(in, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return errors.Join(err, unix.Unlinkat(in, name, 0), unix.Listen(o.listener, maxConnections))
}

// shut ends what a door has. The caller holds the lock of the doors.
func (o *openDoor) shut() {
	o.close()
	for conn := range o.conns {
		_ = conn.Close()
	}
	for _, fd := range []int{o.listener, o.file} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// connect connects a socket to the door at a path, and lets it serve the connection. is
// reports whether the path is one of a door.
func (d *doors) connect(socket int, path string) (errno syscall.Errno, is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.open[path]
	switch {
	case o == nil && strings.HasPrefix(path, doorsDir):
		return unix.ECONNREFUSED, true // its command has ended
	case o == nil:
		return 0, false
	case len(o.conns) >= maxConnections:
		return unix.EAGAIN, true
	}
	if errno := connectTo(socket, o.file); errno != 0 {
		return errno, true
	}
	fd, _, err := unix.Accept4(o.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return unix.ECONNREFUSED, true
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
	return 0, true
}
