package trailread

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
)

const (
	// maxLine is the longest line that is read, as long as audit.Verify's; audit
	// writes shorter ones.
	maxLine = 256 << 10
	// readBuffer is what is read of a file at once.
	readBuffer = 1 << 20
	// smallBuffer is for a look at a few lines.
	smallBuffer = maxLine + 2
	// backBlock is the same from the end of a file on, where few lines are wanted.
	backBlock = 64 << 10
)

// part is a piece of a segment that begins where a line begins.
type part struct {
	Segment
	from, to int64
	last     bool // it reaches to the end of the trail
}

// kind tells lines with an end from others.
type kind int

const (
	whole   kind = iota
	unended      // the last bytes of a part, without a newline
	tooLong      // longer than maxLine
)

// lines yields the lines of one part, from one end of it to the other.
type lines interface {
	// next returns a line without its newline, which is good until the next
	// call, and where it begins. After the last one it returns io.EOF.
	next() (text []byte, at int64, k kind, err error)
	close()
}

// forward reads from the first line on.
type forward struct {
	file *os.File
	in   *bufio.Reader
	at   int64
}

// openForward reads size bytes at once, which is more than maxLine.
func openForward(p part, size int64) (lines, error) {
	f, err := os.Open(p.Path)
	if err != nil {
		return nil, err
	}
	room := min(p.to-p.from+1, size)
	return &forward{f, bufio.NewReaderSize(io.NewSectionReader(f, p.from, p.to-p.from), int(room)), p.from}, nil
}

func (l *forward) close() { _ = l.file.Close() }

func (l *forward) next() ([]byte, int64, kind, error) {
	at := l.at
	text, err := l.in.ReadSlice('\n')
	l.at += int64(len(text))
	switch {
	case err == nil && len(text) <= maxLine+1:
		return text[:len(text)-1], at, whole, nil
	case err == nil:
		return nil, at, tooLong, nil
	case errors.Is(err, io.EOF) && len(text) == 0:
		return nil, at, whole, io.EOF
	case errors.Is(err, io.EOF) && len(text) <= maxLine:
		return text, at, unended, nil
	case errors.Is(err, io.EOF):
		return nil, at, tooLong, nil
	case !errors.Is(err, bufio.ErrBufferFull):
		return nil, at, whole, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = l.in.ReadSlice('\n')
		l.at += int64(len(text))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, at, whole, err
	}
	return nil, at, tooLong, nil
}

// backward reads from the last line on.
type backward struct {
	file *os.File
	from int64  // of the part
	pos  int64  // where buf stands in the file
	buf  []byte // what was read and not yet returned
	room []byte // backing of buf
}

func openBackward(p part) (lines, error) {
	f, err := os.Open(p.Path)
	if err != nil {
		return nil, err
	}
	return &backward{file: f, from: p.from, pos: p.to}, nil
}

func (l *backward) close() { _ = l.file.Close() }

func (l *backward) next() ([]byte, int64, kind, error) {
	if len(l.buf) == 0 {
		if l.pos == l.from {
			return nil, l.from, whole, io.EOF
		}
		if err := l.fill(); err != nil {
			return nil, l.pos, whole, err
		}
	}
	k, end := unended, len(l.buf)
	if l.buf[end-1] == '\n' {
		k, end = whole, end-1
	}
	searched := 0 // so many bytes at the end hold no newline
	for {
		if i := bytes.LastIndexByte(l.buf[:end-searched], '\n'); i >= 0 {
			text := l.buf[i+1 : end]
			l.buf = l.buf[:i+1]
			return text, l.pos + int64(i) + 1, fitting(text, k), nil
		}
		if l.pos == l.from {
			text := l.buf[:end]
			l.buf = l.buf[:0]
			return text, l.pos, fitting(text, k), nil
		}
		if end > maxLine {
			at, err := l.skip()
			return nil, at, tooLong, err
		}
		searched = end
		before := len(l.buf)
		if err := l.fill(); err != nil {
			return nil, l.pos, whole, err
		}
		end += len(l.buf) - before
	}
}

func fitting(text []byte, k kind) kind {
	if len(text) > maxLine {
		return tooLong
	}
	return k
}

// skip passes over the rest of a line that is too long and says where it begins.
func (l *backward) skip() (int64, error) {
	for l.pos > l.from {
		l.buf = l.buf[:0]
		if err := l.fill(); err != nil {
			return l.pos, err
		}
		if i := bytes.LastIndexByte(l.buf, '\n'); i >= 0 {
			l.buf = l.buf[:i+1]
			return l.pos + int64(i) + 1, nil
		}
	}
	l.buf = l.buf[:0]
	return l.pos, nil
}

// fill reads the block before buf.
func (l *backward) fill() error {
	n := int(min(backBlock, l.pos-l.from))
	if need := n + len(l.buf); need > cap(l.room) {
		bigger := make([]byte, 2*need)
		copy(bigger[n:], l.buf)
		l.room = bigger
	} else {
		l.room = l.room[:cap(l.room)]
		copy(l.room[n:need], l.buf)
	}
	got, err := l.file.ReadAt(l.room[:n], l.pos-int64(n))
	if got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // it became shorter
		}
		return err
	}
	l.pos -= int64(n)
	l.buf = l.room[:n+len(l.buf)]
	return nil
}
