package own

import (
	"io/fs"
	"os"
	"slices"
	"time"
)

// kept is a file of a Keeper.
type kept struct {
	File
	way     way         // by which it was read last
	settled stamp       // of what was read last
	first   fs.FileInfo // of a directory: which it was at the start
	held    []held
	told    bool   // that it is not read again when it changes
	refused *stamp // of a change that was not taken up; nil: none
}

// held is something that a file once was, wherever it is now.
type held struct {
	file *os.File
	info fs.FileInfo
}

// mostHeld bounds how many states of a file are held: certificates are renewed
// for years.
const mostHeld = 8

// stamp tells one state of a file from another.
type stamp struct {
	there    bool
	file     fs.FileInfo
	size     int64
	mode     fs.FileMode
	modified time.Time
	changed  time.Time // which no user can set
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

// settle follows the path anew, and takes what is there for the file.
func (f *kept) settle() {
	f.settled = stampOf(f.Path)
	f.way, f.refused = wayOf(f.Path), nil
	f.hold(f.way)
}

// hold holds what a way leads to.
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

// risk says why a file is not followed; "" if it is, or if there is nothing to be
// read again.
func (f *kept) risk(r reach) string {
	if f.Dir || f.Socket {
		return ""
	}
	return r.risk(f.way)
}
