package ipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// maxMessage bounds what the server sends, by [Message.Weight]: a script.
	maxMessage = 8 << 20
	// maxAsked bounds what the server takes. It is more than the longest argument list
	// that systems accept whose limit for stacks is the usual one.
	maxAsked = 4 << 20
	// maxDescriptors is how many come with one message: a directory, three
	// streams and what process substitutions add.
	maxDescriptors = 32
)

// Conn is one end of the socket. Send may be called concurrently, and beside
// Receive; Receive by one goroutine at a time.
type Conn struct {
	file       *os.File
	most, take int // that a message to the other end may weigh, and one from there

	sending sync.Mutex
}

// Pair makes a socket: an end for the server and the file of the other end, which
// the script process is started with. Both are closed on exec.
func Pair() (*Conn, *os.File, error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make the script socket: %w", err)
	}
	return &Conn{file: os.NewFile(uintptr(p[0]), "script socket"), most: maxMessage, take: maxAsked}, os.NewFile(uintptr(p[1]), "server socket"), nil
}

// New returns the end of the script process, for the descriptor that it was
// started with.
func New(fd uintptr) (*Conn, error) {
	unix.CloseOnExec(int(fd))
	if err := unix.SetNonblock(int(fd), true); err != nil {
		return nil, fmt.Errorf("no script socket: %w", err)
	}
	return &Conn{file: os.NewFile(fd, "server socket"), most: maxAsked, take: maxMessage}, nil
}

// Close closes this end. A Receive that waits returns an error.
func (c *Conn) Close() error { return c.file.Close() }

// Send sends a message and copies of the descriptors. After an error the other end
// has not got the whole message. Those that it is given stay
// open, and the caller keeps them so until it returns.
func (c *Conn) Send(m Message, fds ...int) error {
	if len(fds) > maxDescriptors {
		return fmt.Errorf("%d descriptors with one message, more than %d", len(fds), maxDescriptors)
	}
	if n := m.Weight(); n > c.most {
		return fmt.Errorf("the list of arguments and variables is too long: %d bytes, more than %d", n, c.most)
	}
	body := m.append(make([]byte, 4, 512))
	binary.LittleEndian.PutUint32(body, uint32(len(body)-4))
	c.sending.Lock()
	defer c.sending.Unlock()
	if len(fds) > 0 {
		n, err := c.sendWith(body, unix.UnixRights(fds...))
		if err != nil {
			return err
		}
		// Nothing may be written behind the message: the other end may be gone by
		// then, and the message has been sent.
		if body = body[n:]; len(body) == 0 {
			return nil
		}
	}
	_, err := c.file.Write(body)
	return err
}

// sendWith sends the first bytes of a message together with descriptors.
func (c *Conn) sendWith(body, rights []byte) (n int, err error) {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	failure := raw.Write(func(fd uintptr) bool {
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			n, err = unix.SendmsgN(int(fd), body, rights, nil, unix.MSG_NOSIGNAL)
		}
		return !errors.Is(err, unix.EAGAIN)
	})
	if failure != nil {
		return 0, failure
	}
	return n, err
}

// Receive returns the next message and its descriptors, which the caller closes.
// At the end of the connection the error is [io.EOF]. After an error nothing more
// can be received.
func (c *Conn) Receive() (m Message, files []*os.File, err error) {
	var head [4]byte
	n, files, err := c.first(head[:])
	if err == nil {
		_, err = io.ReadFull(c.file, head[n:])
	}
	if err == nil {
		m, err = c.body(binary.LittleEndian.Uint32(head[:]))
	}
	if err != nil {
		CloseAll(files)
		return Message{}, nil, err
	}
	return m, files, nil
}

func (c *Conn) body(size uint32) (Message, error) {
	if size > uint32(c.take) {
		return Message{}, fmt.Errorf("%w: %d bytes", errMalformed, size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(c.file, b); err != nil {
		return Message{}, err
	}
	return decode(b, c.take)
}

// first reads the beginning of the length, with which the descriptors come.
func (c *Conn) first(head []byte) (n int, files []*os.File, err error) {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return 0, nil, err
	}
	var flags, oobn int
	oob := make([]byte, unix.CmsgSpace(maxDescriptors*4))
	failure := raw.Read(func(fd uintptr) bool {
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			n, oobn, flags, _, err = unix.Recvmsg(int(fd), head, oob, unix.MSG_CMSG_CLOEXEC)
		}
		return !errors.Is(err, unix.EAGAIN)
	})
	if failure != nil {
		return 0, nil, failure
	}
	if err != nil {
		return 0, nil, err
	}
	files, err = received(oob[:oobn])
	switch {
	case err != nil:
	case flags&unix.MSG_CTRUNC != 0:
		err = fmt.Errorf("%w: too many descriptors", errMalformed)
	case n == 0:
		err = io.EOF
	}
	return n, files, err
}

// received returns the files of the control messages.
func received(oob []byte) (files []*os.File, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range list {
		fds, err := unix.ParseUnixRights(&list[i])
		if err != nil {
			continue // not descriptors
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}

// CloseAll closes files; nil ones are left out.
func CloseAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
