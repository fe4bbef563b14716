package audit

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Stock is what lies here of one trail.
type Stock struct {
	Trail    string
	Segments []Shelf
	// Ended reports that nothing more is written to the trail: its server has signed
	// its end, or died. Otherwise its last segment is not sealed.
	Ended bool
	// Archived reports that all of its records lie in an archive; Parts that some do.
	Archived, Parts bool
	Last            time.Time // of the last record, as far as is known
	Rest            []Shelf   // recordings
	Bytes           int64     // on the disk, without recordings
}

// Shelf is one file.
type Shelf struct {
	Name  string // below the trail's directory, with /
	Bytes int64  // on the disk
	Last  time.Time
}

// silence is how long a trail must be silent that has no end, after its server has
// died: a server of an earlier version does not say that it lives.
const silence = time.Hour

// Stocks lists the trails of a directory, the oldest first, by what their files say of
// themselves: a plan can be made with it, and no proof.
func Stocks(dir string, now time.Time) (list []Stock, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() && IsTrail(path) {
			s, err := stockOf(path, now)
			if err != nil {
				return nil, err
			}
			list = append(list, s)
		}
	}
	return list, nil
}

func stockOf(path string, now time.Time) (s Stock, err error) {
	s = Stock{Trail: filepath.Base(path)}
	r, err := Files{}.retention(path, nil)
	if err != nil {
		return s, err
	}
	for i := range r.list {
		one := &r.list[i]
		s.Parts = s.Parts || one.Act == Archived
		s.Ended = s.Ended || one.Whole()
		if one.Last.After(s.Last) {
			s.Last = one.Last
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return s, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		switch {
		case e.IsDir() && plainName(e.Name()):
			s.Rest = append(s.Rest, shelves(path, e.Name())...)
		case IsSegment(e.Name()) && info.Mode().IsRegular() && r.about(e.Name()) == nil:
			shelf := Shelf{e.Name(), onDiskBytes(info), lastTime(filepath.Join(path, e.Name()), info)}
			s.Segments = append(s.Segments, shelf)
			if shelf.Last.After(s.Last) {
				s.Last = shelf.Last
			}
		}
		s.Bytes += onDiskBytes(info)
	}
	s.Archived = s.Parts && s.Ended && len(s.Segments) == 0
	marks := filepath.Join(path, checkpointsFile)
	if !s.Ended {
		s.Ended = isClosed(marks) || quiet(path, now) && !claimed(marks)
	}
	return s, nil
}

// shelves lists the files in a directory of a trail.
func shelves(trail, dir string) (list []Shelf) {
	entries, err := os.ReadDir(filepath.Join(trail, dir))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		info, err := e.Info()
		if name := dir + "/" + e.Name(); err == nil && info.Mode().IsRegular() && statable(name) {
			list = append(list, Shelf{name, onDiskBytes(info), info.ModTime()})
		}
	}
	return list
}

// block is what file systems give at least.
const block = 4 << 10

func onDiskBytes(info fs.FileInfo) int64 { return (info.Size() + block - 1) / block * block }

// treeBytes is what a directory takes.
func treeBytes(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// tailOf returns the last bytes of a file.
func tailOf(path string, n int64) []byte {
	f, err := OpenRegular(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	n = min(n, info.Size())
	tail := make([]byte, n)
	got, _ := f.ReadAt(tail, info.Size()-n)
	return tail[:got]
}

// lastTime is the time of the last record of a segment, or of its last change.
func lastTime(path string, info fs.FileInfo) time.Time {
	tail := tailOf(path, 2*MaxLine)
	for end := len(tail); end > 0; {
		start := bytes.LastIndexByte(tail[:end-1], '\n') + 1
		if h, ok := quickHead(tail[start:end]); ok {
			return h.Time
		}
		end = start
	}
	return info.ModTime()
}

// isClosed reports whether the last checkpoint says that it is the last.
func isClosed(marks string) bool {
	notes, torn := splitNotes(tailNotes(marks))
	if torn || len(notes) == 0 {
		return false
	}
	c, err := parseCheckpoint(noteText(notes[len(notes)-1]))
	return err == nil && c.End == closed
}

// tailNotes returns the last checkpoints of a file, from the beginning of one on.
func tailNotes(marks string) []byte {
	tail := tailOf(marks, 4<<10)
	if i := bytes.Index(tail, []byte(originPrefix)); i >= 0 {
		return tail[i:]
	}
	return nil
}

// quiet reports whether nothing was written to a trail for a while.
func quiet(path string, now time.Time) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || now.Sub(info.ModTime()) < silence {
			return false
		}
	}
	return true
}
