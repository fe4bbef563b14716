package replicate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/plainfile"
)

// Backlog is a trail of which something is not copied yet.
type Backlog struct {
	Trail string    `json:"trail"` // its name
	Bytes int64     `json:"bytes"` // not copied, as far as is known
	Since time.Time `json:"since"` // when it was last copied, or begun
	Error string    `json:"error,omitempty"`
}

// Pending lists the trails in a directory that are not copied completely, by
// what their state files say. It asks no stream. Trails that were begun without
// an engine are not in the list, because no copy of them is due.
func Pending(dir string) ([]Backlog, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Backlog
	for _, e := range entries {
		if !e.IsDir() || !audit.IsTrail(e.Name()) {
			continue
		}
		trail := filepath.Join(dir, e.Name())
		f, err := audit.OpenRegular(filepath.Join(trail, StateFile))
		if err != nil {
			continue
		}
		st, err := parseState(f)
		_ = f.Close()
		if err == nil && st.Complete {
			continue
		}
		b := backlogOf(trail, st)
		if err != nil {
			b.Error = err.Error()
		}
		if b.Bytes > 0 || b.Error != "" {
			list = append(list, b)
		}
	}
	return list, nil
}

func backlogOf(trail string, st state) Backlog {
	return Backlog{Trail: filepath.Base(trail), Bytes: left(trail, st.Position), Since: st.Time, Error: st.Error}
}

// left returns how much of a trail is not copied, when its copy ends at a place.
// Segments before that may have been archived or retired.
func left(trail string, at position) int64 {
	l := audit.Layout{Path: trail}
	var n int64
	add := func(path string, copied int64) bool {
		info, err := os.Lstat(path)
		if err == nil {
			n += max(info.Size()-copied, 0)
		}
		return err == nil
	}
	add(l.Key(), at.Key)
	add(l.Rotations(), at.Rotations)
	add(l.Checkpoints(), at.Notes)
	copied := at.Offset
	for i := max(at.Segment, 1); add(l.Segment(i), copied); i++ {
		copied = 0
	}
	return n
}

// Uncopied returns the first segment of a trail of which a copy is due that is not
// there yet; "": none is. A trail that was begun without an engine is not copied.
func Uncopied(trail string) (segment string) {
	f, err := plainfile.Open(filepath.Join(trail, StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return audit.FirstSegment
	}
	defer func() { _ = f.Close() }() // it was only read
	switch st, err := parseState(f); {
	case err != nil:
		return audit.FirstSegment
	case st.Complete:
		return ""
	default:
		return filepath.Base(audit.Layout{Path: trail}.Segment(max(st.Position.Segment, 1)))
	}
}
