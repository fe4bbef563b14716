package protected

import (
	"io/fs"
	"os"
	"slices"
	"time"
)

// kept is one file of a Keeper.
type kept struct {
	File
	way     way         // how the path was followed at the last reading
	settled stamp       // the file's state at the last reading
	first   fs.FileInfo // of a directory: its identity at the start
	held    []held
	told    bool   // it was logged that changes of the file are ignored
	refused *stamp // the last change that was ignored; nil: none
}

// held is a handle on what the file once was, wherever that is now.
type held struct {
	file *os.File
	info fs.FileInfo
}

// mostHeld bounds the handles of one file: over years, a certificate is renewed
// often.
const mostHeld = 8

// stamp identifies one state of a file.
type stamp struct {
	there    bool
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
	if !s.there || !o.there {
		return s.there == o.there
	}
	return s.size == o.size && s.mode == o.mode && s.modified.Equal(o.modified) && s.changed.Equal(o.changed) && os.SameFile(s.file, o.file)
}

// settle follows the path again, and accepts what is there.
func (f *kept) settle() {
	f.settled = stampOf(f.Path)
	f.way, f.refused = wayOf(f.Path), nil
	f.hold(f.way)
}

// hold keeps a handle on what a way leads to.
func (f *kept) hold(w way) {
	if w.target == nil || slices.ContainsFunc(f.held, func(h held) bool { return os.SameFile(h.info, w.target) }) {
		return
	}
	file, err := hold(w.at)
	if err != nil {
		return
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return
	}
	if f.held = append(f.held, held{file, info}); len(f.held) > mostHeld {
		_ = f.held[0].file.Close()
		f.held = slices.Delete(f.held, 0, 1)
	}
}

// risk returns why a file is not followed; "" if it is, or if it is never read
// again.
func (f *kept) risk(r reach) string {
	if f.Dir || f.Socket {
		return ""
	}
	return r.risk(f.way)
}
