package query

import (
	"errors"
	"io"
	"time"
)

// smallPart is the size below which bisection is not worthwhile.
const smallPart = 64 << 10

// parts returns the parts of t between since, inclusive, and until, exclusive;
// a zero time is no bound.
func (t *Trail) parts(since, until time.Time) ([]part, error) {
	var out []part
	for i, s := range t.Segments {
		p := part{Segment: s, to: s.Size, last: i == len(t.Segments)-1}
		var err error
		if !since.IsZero() {
			if p.from, err = p.seek(earlier(since)); err != nil {
				return nil, err
			}
		}
		if !until.IsZero() {
			if p.to, err = p.seek(earlier(until)); err != nil {
				return nil, err
			}
		}
		if p.from < p.to {
			out = append(out, p)
		}
	}
	return out, nil
}

// before reports whether a line comes before what is sought; ok is false if the
// line does not tell.
type before func(line []byte) (is, ok bool)

// earlier is before of a time.
func earlier(t time.Time) before {
	return func(line []byte) (is, ok bool) {
		at, ok := timeOf(line)
		return at.Before(t), ok
	}
}

// seek returns the offset of the first line of p that is not before, or the end
// of p if there is none. It relies on the order of the lines.
func (p part) seek(b before) (int64, error) {
	low, high := p.from, p.to
	for high-low > smallPart {
		middle := low + (high-low)/2
		before, behind, err := p.judge(middle, high, b)
		switch {
		case err != nil:
			return 0, err
		case before:
			low = behind
		default:
			high = middle
		}
	}
	return p.walk(low, b)
}

// judge finds the first record that begins after middle and not after high. It
// reports whether that is before, and where the next line begins.
func (p part) judge(middle, high int64, b before) (is bool, behind int64, err error) {
	l, err := openForward(part{Segment: p.Segment, from: middle, to: p.to}, smallBuffer)
	if err != nil {
		return false, 0, err
	}
	defer l.close()
	if _, _, _, err := l.next(); err != nil { // the rest of a line
		return false, 0, ignoreEOF(err)
	}
	for {
		text, at, k, err := l.next()
		if err != nil || at > high {
			return false, 0, ignoreEOF(err)
		}
		if k != whole {
			continue
		}
		if is, ok := b(text); ok {
			return is, at + int64(len(text)) + 1, nil
		}
	}
}

// walk reads lines from an offset until one is not before. Where there is none, and the
// last thing was no line, it returns the place of that.
func (p part) walk(from int64, b before) (int64, error) {
	l, err := openForward(part{Segment: p.Segment, from: from, to: p.to}, smallBuffer)
	if err != nil {
		return 0, err
	}
	defer l.close()
	end := p.to
	for {
		text, at, k, err := l.next()
		if err != nil {
			return end, ignoreEOF(err)
		}
		end = p.to
		if k == tooLong { // what is behind may not be readable
			end = at
		}
		if k != whole {
			continue
		}
		if is, ok := b(text); ok && !is {
			return at, nil
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
