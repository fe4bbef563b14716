package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"tipstaff/internal/audit"
)

// Follower reads what is appended to trails, and new trails.
type Follower struct {
	in    audit.Files
	path  string
	judge judge
	at    map[string]int64 // offset of the next line of each file
}

// Follow starts after the records that [Find] found there. A line that was
// incomplete then is read when it is complete.
func Follow(in audit.Files, path string, found []Trail, f *Filter) (*Follower, error) {
	w := &Follower{in: in, path: path, judge: newJudge(f), at: map[string]int64{}}
	for _, t := range found {
		for _, s := range t.Segments {
			end, err := s.wholeEnd()
			if err != nil {
				return nil, fmt.Errorf("cannot follow the trail: %w", err)
			}
			w.at[s.Path] = end
		}
	}
	return w, nil
}

// wholeEnd returns the end of the last complete line of s.
func (s Segment) wholeEnd() (int64, error) {
	l, err := openBackward(part{Segment: s, to: s.Size})
	if err != nil {
		return 0, err
	}
	defer l.close()
	switch _, at, k, err := l.next(); {
	case err != nil:
		return s.Size, ignoreEOF(err)
	case k == unended:
		return at, nil
	}
	return s.Size, nil
}

// Poll calls visit for what was added since the previous call, in order of
// time. It does not wait for new records.
func (w *Follower) Poll(ctx context.Context, visit func(*Line) error) (Faults, error) {
	var faults Faults
	trails, err := FindIn(w.in, w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return faults, nil // it does not exist yet, or was removed
	}
	if err != nil {
		return faults, err
	}
	var fresh []Line
	for i := range trails {
		for _, s := range trails[i].Segments {
			if err := context.Cause(ctx); err != nil {
				return faults, err
			}
			p := part{Segment: s, from: w.at[s.Path], to: s.Size}
			if p.to <= p.from {
				w.at[s.Path] = p.to // it may have become shorter
				continue
			}
			found, err := w.read(&trails[i], p, &faults)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return faults, fmt.Errorf("cannot follow the trail: %w", err)
			}
			fresh = append(fresh, found...)
		}
	}
	slices.SortStableFunc(fresh, func(a, b Line) int { return a.Record.Time.Compare(b.Record.Time) })
	for i := range fresh {
		if err := visit(&fresh[i]); err != nil {
			return faults, err
		}
	}
	return faults, nil
}

// read returns the selected records of p, and records how far it has read.
func (w *Follower) read(t *Trail, p part, faults *Faults) ([]Line, error) {
	l, err := openForward(p, readBuffer)
	if err != nil {
		return nil, err
	}
	defer l.close()
	var found []Line
	for {
		text, at, k, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			w.at[p.Path] = p.to
			return found, nil
		case err != nil:
			return found, err
		case k == unended:
			w.at[p.Path] = at
			return found, nil
		}
		line := Line{Trail: t, Place: Place{p.Path, at}}
		if w.judge.take(&line, text, k, faults) {
			line.Raw = bytes.Clone(text)
			found = append(found, line)
		}
	}
}
