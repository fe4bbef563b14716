package trailread

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Trail is a trail as it was when it was found.
type Trail struct {
	Path     string    // its directory, or the one file that was named
	Segments []Segment // in order
}

// Segment is one file of a trail, up to the size that it had when it was found.
type Segment struct {
	Path string
	Size int64
}

// Name is the name of the trail's directory: <start>-<pid>-<random>.
func (t *Trail) Name() string {
	if len(t.Segments) == 1 && t.Path == t.Segments[0].Path {
		return filepath.Base(filepath.Dir(t.Path))
	}
	return filepath.Base(t.Path)
}

// PID is the process that wrote the trail, 0 if its name does not tell.
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

// Bytes is how large the trail was.
func (t *Trail) Bytes() int64 {
	var n int64
	for _, s := range t.Segments {
		n += s.Size
	}
	return n
}

var segmentName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{6}\.jsonl$`) })

// Find returns the trails at path, which is a trail, one of its files, or a
// directory of trails, in the order of their names. Whatever else stands there
// is passed over; a directory without trails is no error.
func Find(path string) ([]Trail, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot find a trail: %w", err)
	}
	if !info.IsDir() {
		return []Trail{{Path: path, Segments: []Segment{{path, info.Size()}}}}, nil
	}
	own, below, err := list(path)
	if err != nil {
		return nil, fmt.Errorf("cannot find the trails: %w", err)
	}
	var trails []Trail
	if len(own) > 0 {
		trails = append(trails, Trail{path, own})
	}
	for _, dir := range below {
		segments, _, err := list(dir)
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot find the trails: %w", err)
		}
		if len(segments) > 0 {
			trails = append(trails, Trail{dir, segments})
		}
	}
	return trails, nil
}

// list returns the segments and the directories in dir, in the order of their names.
func list(dir string) (segments []Segment, below []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			below = append(below, path)
			continue
		}
		if !segmentName().MatchString(e.Name()) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if info.Mode().IsRegular() {
			segments = append(segments, Segment{path, info.Size()})
		}
	}
	return segments, below, nil
}
