//go:build linux

package interp

import (
	"os"
	"sync/atomic"
)

// file is an open file that several descriptors, also of subshells, stand for. It
// is closed with the last of them.
type file struct {
	*os.File
	refs atomic.Int32
}

func newFile(f *os.File) *file {
	n := &file{File: f}
	n.refs.Store(1)
	return n
}

func (f *file) hold() *file {
	if f != nil {
		f.refs.Add(1)
	}
	return f
}

func (f *file) release() {
	if f != nil && f.refs.Add(-1) == 0 {
		_ = f.Close()
	}
}

// files are a shell's descriptors 0 to 30; nil is a closed one.
type files [maxDescriptor + 1]*file

const maxDescriptor = 30

// firstNamed is the first descriptor that the shell chooses for {name}>.
const firstNamed = 10

func (t *files) hold() (n files) {
	for i, f := range t {
		n[i] = f.hold()
	}
	return n
}

// set takes over f.
func (t *files) set(i int, f *file) {
	t[i].release()
	t[i] = f
}

func (t *files) close() {
	for i := range t {
		t.set(i, nil)
	}
}

// passed are the descriptors for a program, up to the last open one.
func (t *files) passed() (list []*os.File) {
	n := 3
	for i := range t {
		if t[i] != nil {
			n = max(n, i+1)
		}
	}
	for _, f := range t[:n] {
		if f == nil {
			list = append(list, nil)
			continue
		}
		list = append(list, f.File)
	}
	return list
}

// directory is the current directory, held open: it may be moved or removed.
type directory struct {
	path string
	file *file
	gone bool // file is no directory, and nothing is found from it
}

func (d *directory) hold() *directory {
	d.file.hold()
	return d
}

func (d *directory) release() { d.file.release() }
