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
)

// file is what a trail needs of its file. Sync may be called while another
// goroutine writes.
type file interface {
	io.WriteCloser             // appends
	Truncate(size int64) error // what is appended next begins at size
	Sync() error               // what was written survives the machine
}

// firstSegment is the file that a trail begins with.
const firstSegment = "000001.jsonl"

// segmentFile names the n-th file of a trail.
func segmentFile(n int) string { return fmt.Sprintf("%06d.jsonl", n) }

// makeTrail makes the directory of a trail that starts at the given time.
func makeTrail(dir string, start time.Time) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	random := make([]byte, 4)
	_, _ = rand.Read(random) // it never fails
	path := filepath.Join(dir, fmt.Sprintf("%s-%d-%s", start.UTC().Format("20060102T150405Z"), os.Getpid(), hex.EncodeToString(random)))
	return path, os.Mkdir(path, 0o700)
}

// segment is a file of a trail on the disk.
type segment struct {
	*os.File
	entries sync.Once // its name and its directory's are on the disk, too
}

// openFile makes a file of a trail.
func openFile(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, unreachable(path, err)
	}
	return &segment{File: f}, nil
}

// errGone: whoever removed the file removed the record.
var errGone = errors.New("the file of the trail was removed or replaced")

// Sync fails when the file is not where it was: what nobody can find any more
// is not recorded.
func (s *segment) Sync() error {
	if err := syncFile(s.File); err != nil {
		return err
	}
	s.entries.Do(func() {
		dir := filepath.Dir(s.Name())
		syncDirectory(dir)
		syncDirectory(filepath.Dir(dir))
	})
	here, err := s.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(s.Name())
	if errors.Is(err, fs.ErrPermission) {
		return unreachable(s.Name(), err)
	}
	if err != nil || !os.SameFile(here, there) {
		return errGone
	}
	return nil
}

// syncDirectory makes new names durable where the system can do that.
func syncDirectory(path string) {
	if d, err := os.Open(path); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
