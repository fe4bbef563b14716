package ship

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tipstaff/internal/audit"
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
		f, err := os.Open(filepath.Join(trail, StateFile))
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
	return Backlog{Trail: filepath.Base(trail), Bytes: max(sizeOf(trail)-st.Position.Bytes, 0), Since: st.Time, Error: st.Error}
}

// sizeOf returns the size of everything that is copied of a trail.
func sizeOf(trail string) int64 {
	l := audit.Layout{Path: trail}
	var n int64
	size := func(path string) bool {
		info, err := os.Lstat(path)
		if err == nil {
			n += info.Size()
		}
		return err == nil
	}
	for _, path := range []string{l.Key(), l.Rotations(), l.Checkpoints()} {
		size(path)
	}
	for i := 1; size(l.Segment(i)); i++ {
	}
	return n
}
