package trailread

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"tipstaff/internal/audit"
)

// Trail is a trail in the state in which it was found.
type Trail struct {
	Path     string    // its directory, or the single file that was named
	Segments []Segment // in order
}

// Segment is one file of a trail, up to the size that it had when it was found.
type Segment struct {
	Path string
	Size int64

	in audit.Files // where the file is
}

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
		return []Trail{{Path: path, Segments: []Segment{{path, info.Size(), in}}}}, nil
	}
	found, err := in.Trails(path)
	if err != nil {
		return nil, err
	}
	var trails []Trail
	for _, f := range found {
		segments, err := sized(in, f.Segments)
		if err != nil {
			return nil, fmt.Errorf("cannot find the trails: %w", err)
		}
		if len(segments) > 0 {
			trails = append(trails, Trail{f.Path, segments})
		}
	}
	return trails, nil
}

// sized returns segments with their sizes; it leaves out what is not a regular
// file or no longer exists.
func sized(in audit.Files, paths []string) (segments []Segment, err error) {
	for _, path := range paths {
		info, err := in.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			segments = append(segments, Segment{path, info.Size(), in})
		}
	}
	return segments, nil
}
