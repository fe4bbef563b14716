package protected

import (
	"io/fs"
	"os"
	"slices"
	"time"
)

// trackedFile is one file of a Registry.
type trackedFile struct {
	File
	resolution resolution  // how the path was followed at the last reading
	accepted   stamp       // the file's state at the last reading
	identity   fs.FileInfo // of a directory: its identity at the start
	handles    []handle
	warned     bool   // it was logged that changes of the file are ignored
	refused    *stamp // the last change that was ignored; nil: none
}

// handle is a handle on what the file once was, wherever that is now.
type handle struct {
	file *os.File
	info fs.FileInfo
}

// maxHandles bounds the handles of one file: over years, a certificate is renewed
// often.
const maxHandles = 8

// stamp identifies one state of a file.
type stamp struct {
	exists   bool
	file     fs.FileInfo
	size     int64
	mode     fs.FileMode
	modified time.Time
	changed  time.Time // change time, which a user cannot set
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{true, info, info.Size(), info.Mode(), info.ModTime(), changeOf(info)}
}

func (s stamp) same(o stamp) bool {
	if !s.exists || !o.exists {
		return s.exists == o.exists
	}
	return s.size == o.size && s.mode == o.mode && s.modified.Equal(o.modified) && s.changed.Equal(o.changed) && os.SameFile(s.file, o.file)
}

// accept follows the path again, and accepts what is there.
func (f *trackedFile) accept() {
	f.accepted = stampOf(f.Path)
	f.resolution, f.refused = resolve(f.Path), nil
	f.hold(f.resolution)
}

// hold keeps a handle on the file to which a path was resolved.
func (f *trackedFile) hold(w resolution) {
	if w.target == nil || slices.ContainsFunc(f.handles, func(h handle) bool { return os.SameFile(h.info, w.target) }) {
		return
	}
	file, err := hold(w.path)
	if err != nil {
		return
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return
	}
	if f.handles = append(f.handles, handle{file, info}); len(f.handles) > maxHandles {
		_ = f.handles[0].file.Close()
		f.handles = slices.Delete(f.handles, 0, 1)
	}
}

// risk returns why a file is not followed; "" if it is, or if it is never read
// again.
func (f *trackedFile) risk(r reach) string {
	if f.Dir || f.Socket {
		return ""
	}
	return r.risk(f.resolution)
}
