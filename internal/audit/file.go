package audit

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tipstaff/internal/plainfile"
)

// file is what a trail needs of its file. Sync may be called while another
// goroutine writes.
type file interface {
	io.WriteCloser             // appends
	Truncate(size int64) error // the next write begins at size
	Sync() error               // what was written survives a failure of the machine
}

// FirstSegment is the name of the first file of records of a trail.
const FirstSegment = "000001.jsonl"

// segmentFile returns the name of the n-th file of a trail.
func segmentFile(n int) string { return fmt.Sprintf("%06d.jsonl", n) }

// makeTrail makes the directory of a trail that starts at the given time. The name
// holds the start, so that names sort by it, the process id, by which other servers see
// whether this one lives, and random digits, because two trails may start in one
// second.
func makeTrail(dir string, start time.Time, pid int) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	random := make([]byte, 4)
	_, _ = rand.Read(random) // never fails
	path := filepath.Join(dir, fmt.Sprintf("%s-%d-%s", start.UTC().Format("20060102T150405Z"), pid, hex.EncodeToString(random)))
	return path, os.Mkdir(path, 0o700)
}

// segment is a file of a trail on the disk.
type segment struct {
	*os.File
	entries sync.Once // guards the sync of the directory entries of the file and its directory
}

// descriptor is a file that has one of the system.
type descriptor interface{ descriptor() *os.File }

func (s *segment) descriptor() *os.File { return s.File }

// openFile makes a file of a trail.
func openFile(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, unreachable(path, err)
	}
	return withReserve(&segment{File: f}, 0), nil
}

// reopenFile opens a file of a trail that another process has written, whose directory
// entry is on the disk.
func reopenFile(path string) (*segment, fs.FileInfo, error) {
	f, err := openWithoutWaiting(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, nil, unreachable(path, err) // a socket or a device without a driver among them
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	s := &segment{File: f}
	s.entries.Do(func() {})
	return s, info, nil
}

// errGone: removing the file removed the records in it.
var errGone = errors.New("the file of the trail was removed or replaced; a server that is started again begins another trail")

// Sync syncs the file, and on the first call also its directory entries. It fails if
// the file is no longer at its path: someone removed or replaced it, no reader can find
// its records, and a command whose record is lost must not run.
func (s *segment) Sync() error {
	if err := syncFile(s.File); err != nil {
		return err
	}
	s.entries.Do(func() {
		dir := filepath.Dir(s.Name())
		syncDirectory(dir)
		syncDirectory(filepath.Dir(dir))
	})
	opened, err := s.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(s.Name())
	if errors.Is(err, fs.ErrPermission) {
		return unreachable(s.Name(), err)
	}
	if err != nil || !os.SameFile(opened, named) {
		return errGone
	}
	return nil
}

// syncDirectory makes new directory entries durable, on systems that can do
// that.
func syncDirectory(path string) {
	if d, err := plainfile.OpenDir(path); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
