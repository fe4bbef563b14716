package query

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/seekable"
)

const (
	// maxLine is the longest line that is read, the same as for audit.Verify;
	// audit writes shorter ones.
	maxLine = 256 << 10
	// mostSkipped is how much of a line that is too long is passed over. What is longer
	// is a hole of terabytes, which takes no room on the disk: no record is
	// looked for behind it.
	mostSkipped = 64 << 20
	// readBuffer is the size of reads of a file.
	readBuffer = 1 << 20
	// smallBuffer is for reading a few lines.
	smallBuffer = maxLine + 2
	// backBlock is the size of reads from the end of a file, where few lines
	// are needed.
	backBlock = 64 << 10
)

// part is a piece of a segment that begins at the start of a line.
type part struct {
	Segment
	from, to int64
	last     bool // it extends to the end of the trail
}

// kind says how a line ends.
type kind int

const (
	whole   kind = iota
	unended      // the last bytes of a part, without a newline
	tooLong      // longer than maxLine
)

// lines iterates over the lines of one part, forward or backward.
type lines interface {
	// next returns a line without its newline, valid until the next call, and
	// its offset. After the last line it returns io.EOF.
	next() (text []byte, at int64, k kind, err error)
	// rest returns what of the part was not returned yet.
	rest(p part) (from, to int64)
	close()
}

// vanished reports whether a segment cannot be opened because it was retired since it
// was found: by itself, or with its trail.
func (p part) vanished(err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	trail := filepath.Dir(p.Path)
	if _, gone := p.in.Lstat(trail); errors.Is(gone, fs.ErrNotExist) {
		return true
	}
	s, _ := p.in.RetiredFile(trail, filepath.Base(p.Path)) // else the error is that of the file
	return s != nil
}

// instead returns what stands in the place of a part that cannot be opened; nil: the
// error. One damaged file must not keep all others from being read.
func (p part) instead(err error) lines {
	switch {
	case errors.Is(err, seekable.ErrCorrupt):
		return &damaged{at: p.from}
	case p.vanished(err):
		return nothing{}
	}
	return nil
}

// nothing is a part without lines.
type nothing struct{}

func (nothing) next() ([]byte, int64, kind, error) { return nil, 0, whole, io.EOF }

func (nothing) rest(p part) (from, to int64) { return p.to, p.to }

func (nothing) close() {}

// damaged is a part that cannot be read: one line that is no record.
type damaged struct {
	nothing

	at       int64
	reported bool
}

func (d *damaged) next() ([]byte, int64, kind, error) {
	if d.reported {
		return nil, d.at, whole, io.EOF
	}
	d.reported = true
	return nil, d.at, tooLong, nil
}

// forward reads from the first line on.
type forward struct {
	file audit.File
	in   *bufio.Reader
	at   int64
	to   int64
}

// openForward reads size bytes at a time, which must be more than maxLine.
func openForward(p part, size int64) (lines, error) {
	f, err := p.in.Open(p.Path)
	if instead := p.instead(err); instead != nil {
		return instead, nil
	}
	if err != nil {
		return nil, err
	}
	room := min(p.to-p.from+1, size)
	return &forward{f, bufio.NewReaderSize(io.NewSectionReader(f, p.from, p.to-p.from), int(room)), p.from, p.to}, nil
}

func (l *forward) close() { _ = l.file.Close() }

func (l *forward) rest(p part) (from, to int64) { return l.at, p.to }

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
	}
	for errors.Is(err, bufio.ErrBufferFull) && l.at-at <= mostSkipped {
		text, err = l.in.ReadSlice('\n')
		l.at += int64(len(text))
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull), errors.Is(err, seekable.ErrCorrupt):
		l.at = l.to
		l.in.Reset(bytes.NewReader(nil))
	case err != nil && !errors.Is(err, io.EOF):
		return nil, at, whole, err
	}
	return nil, at, tooLong, nil
}

// backward reads from the last line to the first.
type backward struct {
	file audit.File
	from int64  // start of the part
	pos  int64  // offset of buf in the file
	buf  []byte // what was read and not returned yet
	room []byte // backing array of buf
}

func openBackward(p part) (lines, error) {
	f, err := p.in.Open(p.Path)
	if instead := p.instead(err); instead != nil {
		return instead, nil
	}
	if err != nil {
		return nil, err
	}
	return &backward{file: f, from: p.from, pos: p.to}, nil
}

func (l *backward) close() { _ = l.file.Close() }

func (l *backward) rest(p part) (from, to int64) { return p.from, l.pos + int64(len(l.buf)) }

func (l *backward) next() ([]byte, int64, kind, error) {
	if len(l.buf) == 0 {
		if l.pos == l.from {
			return nil, l.from, whole, io.EOF
		}
		if err := l.fill(); err != nil {
			return l.fail(err)
		}
	}
	k, end := unended, len(l.buf)
	if l.buf[end-1] == '\n' {
		k, end = whole, end-1
	}
	searched := 0 // number of bytes at the end that contain no newline
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
			if err != nil {
				return l.fail(err)
			}
			return nil, at, tooLong, nil
		}
		searched = end
		before := len(l.buf)
		if err := l.fill(); err != nil {
			return l.fail(err)
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

// fail gives up what of a damaged file was not read yet.
func (l *backward) fail(err error) ([]byte, int64, kind, error) {
	if errors.Is(err, seekable.ErrCorrupt) {
		l.pos, l.buf = l.from, l.buf[:0]
		return nil, l.pos, tooLong, nil
	}
	return nil, l.pos, whole, err
}

// skip skips the rest of a line that is too long, and returns its offset.
func (l *backward) skip() (int64, error) {
	for end := l.pos; l.pos > l.from; {
		if end-l.pos > mostSkipped {
			l.pos = l.from
			break
		}
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
			err = io.ErrUnexpectedEOF // the file has become shorter
		}
		return err
	}
	l.pos -= int64(n)
	l.buf = l.room[:n+len(l.buf)]
	return nil
}
