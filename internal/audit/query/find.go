package query

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/seekable"
)

// Trail is a trail in the state in which it was found.
type Trail struct {
	Path     string    // its directory, or the single file that was named
	Segments []Segment // in order

	// Away is the archive where records of it lie, if that is not there now; they are
	// not among the segments.
	Away string

	in audit.Files // where it is

	// Before is later than all of its records, if that is known without reading it, and
	// Began not later than the first of them; zero: not known. They only save reading.
	Began, Before time.Time
}

// Segment is one file of a trail, up to the size that it had when it was found.
type Segment struct {
	Path string
	Size int64

	in audit.Files // where the file is
}

// File reads a file of the trail that holds no records, by its path.
func (t *Trail) File(path string) ([]byte, error) { return t.in.ReadFile(path) }

// Below lists the files in a directory of the trail, as its recordings.
func (t *Trail) Below(dir string) ([]audit.AttachedFile, error) { return t.in.Below(t.Path, dir) }

// Name is the name of the trail's directory: <start>-<pid>-<random>.
func (t *Trail) Name() string {
	if len(t.Segments) == 1 && t.Path == t.Segments[0].Path {
		return filepath.Base(filepath.Dir(t.Path))
	}
	return filepath.Base(t.Path)
}

// PID returns the id of the process that wrote the trail, or 0 if the name does
// not contain it.
func (t *Trail) PID() int {
	parts := strings.Split(t.Name(), "-")
	if len(parts) != 3 {
		return 0
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// Bytes returns the size of the trail.
func (t *Trail) Bytes() int64 {
	var n int64
	for _, s := range t.Segments {
		n += s.Size
	}
	return n
}

// Find returns the trails at path, which is a trail, one of its files, or a
// directory of trails, sorted by name. It ignores everything else there; a
// directory without trails is not an error.
func Find(path string) ([]Trail, error) { return FindIn(audit.Files{}, path) }

// FindIn is Find for trails in another place.
func FindIn(in audit.Files, path string) ([]Trail, error) {
	info, err := in.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot find a trail: %w", err)
	}
	if !info.IsDir() {
		return []Trail{{Path: path, Segments: []Segment{{path, info.Size(), in}}, in: in}}, nil
	}
	found, err := in.Trails(path)
	if err != nil {
		return nil, err
	}
	var trails []Trail
	for _, f := range found {
		t := Trail{Path: f.Path, in: in}
		if err := t.take(f.Segments); err != nil {
			return nil, fmt.Errorf("cannot find the trails: %w", err)
		}
		if len(t.Segments) > 0 || t.Away != "" {
			trails = append(trails, t)
		}
	}
	return trails, nil
}

// take finds out the sizes of segments. It leaves out what is not a regular file or no
// longer exists.
func (t *Trail) take(paths []string) error {
	for _, path := range paths {
		info, err := t.in.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or in an archive that is not there
			if t.Away, err = t.in.Archive(path); err != nil {
				return err
			}
			continue
		}
		if errors.Is(err, seekable.ErrCorrupt) { // reading it says so
			t.Segments = append(t.Segments, Segment{path, 1, t.in})
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			t.Segments = append(t.Segments, Segment{path, info.Size(), t.in})
		}
	}
	return nil
}
