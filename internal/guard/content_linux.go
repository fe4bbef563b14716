//go:build linux

package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// form is what stands at a path.
type form int

const (
	nothing form = iota
	file
	directory
	link
	other // a device, a FIFO, a socket
	unseen
)

// content is what stood at a path when it was looked at.
type content struct {
	form  form
	id    identity
	mode  uint32 // of a file
	owner owner
	links bool               // the file has more names than this one
	text  []byte             // of a file, as far as it was read
	to    string             // of a link
	names map[string]content // of a directory
	sign  sign               // of what was not read whole
	fault error              // why it was not seen
}

// identity tells one file from another. A number of an inode is given again when its
// file is gone: the time of its birth is not.
type identity struct {
	device, inode uint64
	born          unix.StatxTimestamp
}

type owner struct{ user, group uint32 }

// sign stands for a content that is too large to keep.
type sign struct {
	size    uint64
	changed unix.StatxTimestamp
}

// Bounds of what is kept of one item. They are far above what the files are that
// people write; whatever is larger is compared by its size and time of change, and
// cannot be put back.
const (
	mostFile  = 1 << 20
	mostNames = 256
	mostDepth = 4
	// of one look
	mostLook      = 16 << 20
	mostLookNames = 2048
)

// budget is what is left of one look.
type budget struct{ bytes, names int }

func (*budget) takes(left *int, n int) bool {
	*left -= n
	return *left >= 0
}

// openParent opens the directory that a path lies in. No link on the way is
// followed: the path was canonical when it was taken up.
func openParent(path string) (fd int, name string, err error) {
	dir, name := split(path)
	fd, err = openDir(dir)
	return fd, name, err
}

func openDir(dir string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before 5.6, or in a sandbox without it
		fd, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	return fd, err
}

// read looks at an item. What is replaced again and again while it is looked at stays
// unseen.
func (it *item) read() (c content) {
	depth := 0
	if it.Kind == Entry {
		depth = mostDepth
	}
	return read(it.Path, depth)
}

func read(path string, depth int) (c content) {
	for range 8 {
		if c = readOnce(path, depth); c.form != unseen || !errors.Is(c.fault, errChanging) {
			break
		}
	}
	return c
}

func readOnce(path string, depth int) content {
	dir, name, err := openParent(path)
	if err != nil {
		return missing(err)
	}
	defer func() { _ = unix.Close(dir) }()
	return readAt(dir, name, depth)
}

// stat asks for what tells one file from another, and whether it has changed.
func stat(dir int, name string, flags int) (st unix.Statx_t, id identity, err error) {
	err = unix.Statx(dir, name, flags|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	return st, identity{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, st.Btime}, err
}

// missing tells a path that is not there from one that cannot be seen.
func missing(err error) content {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return content{}
	}
	return content{form: unseen, fault: err}
}

// readAt looks at a name in a directory. Nothing but regular files and directories
// is opened.
func readAt(dir int, name string, depth int) content {
	return (&budget{mostLook, mostLookNames}).readAt(dir, name, depth)
}

func (b *budget) readAt(dir int, name string, depth int) content {
	st, id, err := stat(dir, name, 0)
	if err != nil {
		return missing(err)
	}
	c := content{id: id, mode: uint32(st.Mode & 0o777), owner: owner{st.Uid, st.Gid}, sign: sign{st.Size, st.Ctime}}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		c.form, c.links = file, st.Nlink > 1
		if st.Size <= mostFile && b.takes(&b.bytes, int(st.Size)) {
			c.text, c.fault = readFile(dir, name, c.id)
		}
	case unix.S_IFDIR:
		c.form = directory
		b.readNames(&c, dir, name, depth)
	case unix.S_IFLNK:
		c.form = link
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(dir, name, buf)
		c.to, c.fault = string(buf[:max(n, 0)]), err
	default:
		c.form = other
	}
	if c.fault != nil {
		if errors.Is(c.fault, unix.ENOENT) {
			c.fault = errChanging
		}
		return content{form: unseen, fault: c.fault}
	}
	return c
}

// readFile reads a small regular file, if it is still the one that was looked at.
func readFile(dir int, name string, id identity) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	if _, now, err := stat(fd, "", unix.AT_EMPTY_PATH); err != nil || now != id {
		return nil, errors.Join(err, errChanging)
	}
	text, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if len(text) > mostFile {
		return nil, errChanging
	}
	return text, err
}

var errChanging = errors.New("it is being changed")

func (b *budget) readNames(c *content, dir int, name string, depth int) {
	if depth >= mostDepth || b.names <= 0 {
		return
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		c.fault = err
		return
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	list, err := f.Readdirnames(mostNames + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		c.fault = err
		return
	}
	if len(list) > mostNames || !b.takes(&b.names, len(list)) {
		return
	}
	c.names = make(map[string]content, len(list))
	for _, n := range list {
		switch in := b.readAt(fd, n, depth+1); {
		case errors.Is(in.fault, errChanging):
			c.fault = errChanging
			return
		case in.form != nothing: // or it has gone meanwhile
			c.names[n] = in
		}
	}
}

// whole reports whether a content was read to the end, with all that is in it, so that
// it can be put back.
func (c content) whole() bool {
	for _, in := range c.names {
		if !in.whole() {
			return false
		}
	}
	return c.known()
}

// known reports whether it was read itself.
func (c content) known() bool {
	switch c.form {
	case file:
		return c.text != nil || c.sign.size == 0
	case directory:
		return c.names != nil
	}
	return c.form == nothing || c.form == link
}

// same reports whether two contents mean the same to a program that reads them.
func (c content) same(d content) bool {
	if c.form != d.form || !c.known() || !d.known() {
		return c.form == d.form && c.id == d.id && c.sign == d.sign
	}
	switch c.form {
	case file:
		return bytes.Equal(c.text, d.text) && c.mode&0o111 == d.mode&0o111
	case directory:
		return maps.EqualFunc(c.names, d.names, content.same)
	case link:
		return c.to == d.to
	}
	return true
}

// below gives what is to be watched in a directory that was read, as relative paths:
// directories, and files for themselves, because a write by another name of the same
// file is none in the directory. Samples of hooks are not run.
func (c content) below() (list []string) {
	for name, in := range c.names {
		if in.form == directory || in.form == file && !strings.HasSuffix(name, ".sample") {
			list = append(list, name)
		}
		for _, deeper := range in.below() {
			list = append(list, filepath.Join(name, deeper))
		}
	}
	slices.Sort(list)
	return list
}

// linked reports whether a file in it has another name.
func (c content) linked() bool {
	for _, in := range c.names {
		if in.linked() {
			return true
		}
	}
	return c.links
}

// String says what stands there, for reports.
func (c content) String() string {
	switch c.form {
	case nothing:
		return "nothing"
	case file:
		return "a file"
	case directory:
		return "a directory"
	case link:
		return fmt.Sprintf("a symbolic link to %s", c.to)
	case unseen:
		return fmt.Sprintf("something that cannot be looked at (%v)", c.fault)
	}
	return "a special file"
}
