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

// form is the kind of file at a path.
type form int

const (
	nothing form = iota
	file
	directory
	link
	other // a device, a FIFO, a socket
	unseen
)

// content is what a path held when it was read.
type content struct {
	form  form
	id    identity
	mode  uint32 // of a file
	owner owner
	links bool               // the file has several names (hard links)
	text  []byte             // of a file, as far as it was read
	to    string             // the target of a link
	names map[string]content // of a directory
	sign  sign               // size and change time; compared when the content was not read whole
	fault error              // why it could not be read
}

// identity tells one file from another. The time of birth is part of it because
// inode numbers are reused.
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

// Bounds for the content that is kept of one item. They are far above the size
// of files that people write. Larger files are compared by size and time of
// change, and cannot be put back.
const (
	mostFile  = 1 << 20
	mostNames = 256
	mostDepth = 4
	// of one check
	mostLook      = 16 << 20
	mostLookNames = 2048
)

// mostHeld bounds the content that is kept of all items of one directory, in memory. A
// file of a megabyte may take no room on disk.
//
// Only a test changes it.
var mostHeld = 192 << 20

// budget is what remains of these bounds during one check.
type budget struct{ bytes, names int }

func (*budget) takes(left *int, n int) bool {
	*left -= n
	return *left >= 0
}

// openParent opens the directory that path lies in. It follows no symbolic
// link: path was canonical when the item was registered.
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
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before Linux 5.6, or in a sandbox that forbids it
		fd, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	return fd, err
}

// read reads an item. An item that keeps being replaced while it is read gives
// a content with a fault.
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

// stat returns what tells one file from another, and whether it has changed.
func stat(dir int, name string, flags int) (st unix.Statx_t, id identity, err error) {
	err = unix.Statx(dir, name, flags|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	return st, identity{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, st.Btime}, err
}

// missing tells a path that does not exist from one that cannot be read.
func missing(err error) content {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return content{}
	}
	return content{form: unseen, fault: err}
}

// readAt reads a name in a directory. It opens only regular files and
// directories.
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

// readFile reads a small regular file, if it is still the file with this
// identity.
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
		case in.form != nothing: // or it was removed meanwhile
			c.names[n] = in
		}
	}
}

// whole reports whether a content was read completely, including everything in
// a directory, so that it can be put back.
func (c content) whole() bool {
	for _, in := range c.names {
		if !in.whole() {
			return false
		}
	}
	return c.known()
}

// known reports whether the content itself was read.
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

// below returns the relative paths to watch in a directory that was read. Files
// are watched as well as directories, because a write through another hard link
// causes no event in the directory. Hook samples are left out: git does not run
// them.
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

// bytes returns how much of the content is in memory.
func (c content) bytes() int {
	n := len(c.text)
	for _, in := range c.names {
		n += in.bytes()
	}
	return n
}

// linked reports whether a file in the content has another name.
func (c content) linked() bool {
	for _, in := range c.names {
		if in.linked() {
			return true
		}
	}
	return c.links
}

// String describes the content, for reports.
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
