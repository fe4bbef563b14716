package query

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tipstaff/internal/audit"
)

// ReadStats says what was read to answer a query.
type ReadStats struct {
	Trails int
	Lines  int64 // selected or not, without torn ones
	// Faults counts the lines that are not records. A line that cannot match is
	// only checked at its beginning and end.
	Faults Faults
}

// Read calls visit for every record that f selects, in order of time; records
// of one trail stay in their order. A Line is valid until visit returns. Read
// stops at an error of visit, which it returns, or with the cause of ctx.
func Read(ctx context.Context, trails []Trail, f *Filter, visit func(*Line) error) (ReadStats, error) {
	m := newMerge(ctx, f, false)
	err := m.run(trails, visit)
	return m.stats, err
}

// Last returns the last n records that f selects, in the order of [Read]. It
// reads backward from the ends of the trails, no further than necessary.
func Last(ctx context.Context, trails []Trail, f *Filter, n int) ([]Line, ReadStats, error) {
	m := newMerge(ctx, f, true)
	var found []Line
	if n <= 0 {
		return nil, m.stats, nil
	}
	err := m.run(trails, func(l *Line) error {
		keep := *l
		keep.Raw = bytes.Clone(l.Raw)
		found = append(found, keep)
		if len(found) == n {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	slices.Reverse(found)
	return found, m.stats, err
}

var errEnough = errors.New("enough")

// merge reads several trails in order of time. It opens a trail when the time
// of its first record is reached, and closes it after its last record. Of trails that
// overlap it has a bounded number of files open, see fd_limit.go.
type merge struct {
	context func() error
	judge   judge
	reverse bool // from the last record to the first
	stats   ReadStats

	open    []*source // a heap, with the next record at the top
	waiting []*source // sorted by the time of their first record
	begun   bool      // waiting is complete
	files   int       // that are open
}

func newMerge(ctx context.Context, f *Filter, reverse bool) *merge {
	return &merge{
		context: func() error { return context.Cause(ctx) },
		judge:   newJudge(f), reverse: reverse,
	}
}

func (m *merge) run(trails []Trail, visit func(*Line) error) error {
	defer func() {
		for _, s := range m.open {
			s.close()
		}
	}()
	m.stats.Trails = len(trails)
	if err := m.begin(trails); err != nil {
		return m.failed(err)
	}
	for n := 1; ; n++ {
		if err := m.admit(); err != nil {
			return m.failed(err)
		}
		if len(m.open) == 0 {
			return nil
		}
		s := m.open[0]
		if s.passing || n%breath == 0 {
			if err := m.context(); err != nil {
				return err
			}
		}
		if !s.passing {
			if err := visit(&s.line); err != nil {
				return err
			}
		}
		more, err := s.advance()
		if err != nil {
			return m.failed(err)
		}
		if more {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
}

// failed leaves errors unchanged that a caller compares.
func (m *merge) failed(err error) error {
	if cause := m.context(); cause != nil {
		return cause
	}
	return fmt.Errorf("cannot read the trail: %w", err)
}

// begin finds out which parts of each trail to read, and when it begins.
func (m *merge) begin(trails []Trail) error {
	for i := range trails {
		if err := m.context(); err != nil {
			return err
		}
		s := &source{of: m, trail: &trails[i], index: i}
		if m.reverse && !s.trail.Before.IsZero() || !m.reverse && !s.trail.Began.IsZero() {
			if s.setTimeBounds(); s.unread {
				m.waiting = append(m.waiting, s)
			}
			continue
		}
		if err := s.findParts(); err != nil {
			return err
		}
		if len(trails) > 1 { // a single trail needs no order
			var err error
			if s.begins, err = m.peek(s.parts); err != nil {
				return err
			}
		}
		m.waiting = append(m.waiting, s)
	}
	slices.SortStableFunc(m.waiting, func(a, b *source) int {
		if m.reverse {
			return b.begins.Compare(a.begins)
		}
		return a.begins.Compare(b.begins)
	})
	m.begun = true
	return nil
}

// peek returns the time of the first record to read.
func (m *merge) peek(parts []part) (time.Time, error) {
	for _, p := range parts {
		l, err := m.lines(p, smallBuffer)
		if err != nil {
			return time.Time{}, err
		}
		at, err := firstTime(l)
		l.close()
		if err != nil || !at.IsZero() {
			return at, err
		}
	}
	return time.Time{}, nil
}

func firstTime(l lines) (time.Time, error) {
	for {
		text, _, k, err := l.next()
		if err != nil {
			return time.Time{}, ignoreEOF(err)
		}
		if k != whole {
			continue
		}
		if at, ok := timeOf(text); ok {
			return at, nil
		}
	}
}

func (m *merge) lines(p part, buffer int64) (lines, error) {
	if m.reverse {
		return openBackward(p)
	}
	return openForward(p, buffer)
}

// admit opens the trails whose time has come.
func (m *merge) admit() error {
	for len(m.waiting) > 0 {
		s := m.waiting[0]
		if len(m.open) > 0 && !s.begins.IsZero() {
			now := m.open[0].line.Record.Time
			if m.reverse && s.begins.Before(now) || !m.reverse && s.begins.After(now) {
				return nil
			}
		}
		m.waiting = m.waiting[1:]
		more, err := s.advance()
		if err != nil {
			return err
		}
		if more {
			heap.Push(m, s)
		}
	}
	return nil
}

// Methods of the heap of open trails.

func (m *merge) Len() int      { return len(m.open) }
func (m *merge) Swap(i, j int) { m.open[i], m.open[j] = m.open[j], m.open[i] }
func (m *merge) Less(i, j int) bool {
	a, b := m.open[i], m.open[j]
	if m.reverse {
		a, b = b, a
	}
	if c := a.line.Record.Time.Compare(b.line.Record.Time); c != 0 {
		return c < 0
	}
	return a.index < b.index
}

// Push implements heap.Interface.
func (m *merge) Push(s any) { m.open = append(m.open, s.(*source)) } //nolint:errcheck,forcetypeassert // only admit pushes

// Pop implements heap.Interface.
func (m *merge) Pop() any {
	s := m.open[len(m.open)-1]
	m.open = m.open[:len(m.open)-1]
	return s
}

// source iterates over the selected records of one trail.
type source struct {
	of        *merge
	trail     *Trail
	index     int
	begins    time.Time
	unread    bool   // it is not known yet which parts there are
	parts     []part // not opened yet
	part      part   // open, if lines is not nil
	lines     lines
	suspended bool // lines was closed, and goes on at the rest of part
	line      Line // the current one
	// passing: many records were not selected, and line has the time of the last
	// one. So the other trails keep pace, and whoever interrupts the merge
	// learns how far it came.
	passing bool
}

func (s *source) close() {
	if s.lines != nil {
		s.lines.close()
		s.lines = nil
		s.of.files--
	}
}

// breath is the number of lines between two checks of the context.
const breath = 1024

// advance moves to the next selected record, or past many others. After the
// last record, and after an error, it returns false and has closed everything.
func (s *source) advance() (bool, error) {
	s.passing = false
	for n := 1; ; n++ {
		if s.unread {
			if err := s.findParts(); err != nil {
				return false, err
			}
		}
		if s.lines == nil {
			if len(s.parts) == 0 && !s.suspended {
				return false, nil
			}
			if err := s.openNext(); err != nil {
				return false, err
			}
		}
		text, at, k, err := s.lines.next()
		if err != nil {
			s.close()
			if errors.Is(err, io.EOF) {
				continue
			}
			return false, err
		}
		s.line.Trail, s.line.Place = s.trail, Place{s.part.Path, at}
		if k == unended && s.part.last {
			s.of.stats.Faults.torn(s.line.Place)
			continue
		}
		s.of.stats.Lines++
		if s.of.judge.take(&s.line, text, k, &s.of.stats.Faults) {
			return true, nil
		}
		if n >= breath {
			if at, ok := timeOf(text); ok {
				s.passing, s.line.Record = true, audit.Record{Time: at}
				return true, nil
			}
		}
	}
}

func (s *source) openNext() error {
	buffer := int64(readBuffer)
	if s.suspended {
		s.suspended, buffer = false, smallBuffer
	} else {
		s.part, s.parts = s.parts[0], s.parts[1:]
	}
	s.of.limitFiles(s)
	l, err := s.of.lines(s.part, buffer)
	if err != nil {
		return err
	}
	s.lines = l
	s.of.files++
	return nil
}

// judge selects lines.
type judge struct {
	filter  *Filter
	quick   prefilter
	decoder decoder
}

func newJudge(f *Filter) judge { return judge{filter: f, quick: f.prefilter()} }

// take parses one complete line into l, and reports whether it is selected.
func (j *judge) take(l *Line, text []byte, k kind, faults *Faults) bool {
	if k != whole {
		faults.bad(l.Place)
		return false
	}
	may := j.quick.mayMatch(text)
	if !may && looksWhole(text) {
		return false
	}
	if err := j.decoder.decode(text, &l.Record); err != nil {
		faults.bad(l.Place)
		return false
	}
	l.Raw = text
	return may && j.filter.Match(&l.Record)
}
