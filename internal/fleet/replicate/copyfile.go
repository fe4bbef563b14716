package replicate

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// Open implements [fs.FS].
func (c *Copies) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, file, ok := c.look(name)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	info := copyInfo{name: path.Base(name), dir: file == nil}
	if file == nil {
		d := &copyDir{info: info}
		for _, e := range entries {
			_, f, ok := c.look(path.Join(name, e))
			if ok {
				d.rest = append(d.rest, copyInfo{name: e, dir: f == nil, size: f.length()})
			}
		}
		return d, nil
	}
	info.size = file.size
	return &copyFile{of: c, info: info, pieces: file.pieces[:len(file.pieces):len(file.pieces)]}, nil
}

func (f *fileCopy) length() int64 {
	if f == nil {
		return 0
	}
	return f.size
}

// copyInfo describes a file or a directory. Streams know no times of files.
type copyInfo struct {
	name string
	dir  bool
	size int64
}

func (i copyInfo) Name() string               { return i.name }
func (i copyInfo) Size() int64                { return i.size }
func (i copyInfo) ModTime() time.Time         { return time.Time{} }
func (i copyInfo) IsDir() bool                { return i.dir }
func (i copyInfo) Sys() any                   { return nil }
func (i copyInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i copyInfo) Info() (fs.FileInfo, error) { return i, nil }
func (i copyInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o500
	}
	return 0o400
}

// copyDir is an open directory.
type copyDir struct {
	info copyInfo
	rest []copyInfo
}

func (d *copyDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *copyDir) Close() error               { return nil }
func (d *copyDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile].
func (d *copyDir) ReadDir(n int) (list []fs.DirEntry, err error) {
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		err = io.EOF
	}
	n = min(n, len(d.rest))
	for _, e := range d.rest[:n] {
		list = append(list, e)
	}
	d.rest = d.rest[n:]
	return list, err
}

// copyFile is an open file: what it contained when it was opened.
type copyFile struct {
	of     *Copies
	info   copyInfo
	pieces []piece
	pos    int64 // of Read

	latest piece // one of those in body
	body   []byte
}

// readTime bounds one exchange with the engine, which may have gone away.
const readTime = 10 * time.Second

func (f *copyFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *copyFile) Close() error               { return nil }

// Read implements [io.Reader].
func (f *copyFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p[:min(int64(len(p)), max(f.info.size-f.pos, 0))], f.pos)
	f.pos += int64(n)
	if err == nil && n == 0 && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// ReadAt implements [io.ReaderAt], for one caller at a time.
func (f *copyFile) ReadAt(p []byte, at int64) (n int, err error) {
	i, _ := slices.BinarySearchFunc(f.pieces, at, func(p piece, at int64) int {
		if p.end() <= at {
			return -1
		}
		return 1
	})
	for n < len(p) && i < len(f.pieces) {
		end := i + 1
		for end < len(f.pieces) && f.pieces[end].at < at+int64(len(p)) && f.pieces[end].of == f.pieces[i].of {
			end++
		}
		got, err := f.run(p, at, f.pieces[i:end])
		if n = got; err != nil {
			return n, err
		}
		i = end
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// run reads pieces of one trail into p, which begins at an offset of the file. It
// returns how much of p is filled then.
func (f *copyFile) run(p []byte, at int64, pieces []piece) (n int, err error) {
	into := func(one piece, text []byte) {
		from := max(at-one.at, 0)
		n = int(one.at+from-at) + copy(p[one.at+from-at:], text[from:])
	}
	n = int(max(pieces[0].at-at, 0))
	if len(pieces) == 1 || f.holds(pieces[0]) {
		text, err := f.read(pieces[0])
		if err != nil {
			return n, err
		}
		into(pieces[0], text)
		if pieces = pieces[1:]; len(pieces) == 0 {
			return n, nil
		}
	}
	of, last := pieces[0].of, pieces[len(pieces)-1].seq
	ctx, cancel := context.WithTimeout(f.of.ctx, readTime)
	defer cancel()
	err = f.of.from.ReadCopies(ctx, of.stream, of.subject, pieces[0].seq, last, func(m natsx.StoredCopy) error {
		for len(pieces) > 0 && pieces[0].seq == m.Sequence {
			text, err := pieces[0].in(m.Data)
			if err != nil {
				return err
			}
			into(pieces[0], text)
			f.latest, f.body = pieces[0], m.Data
			pieces = pieces[1:]
		}
		return nil
	})
	if err == nil && len(pieces) > 0 {
		err = pieces[0].fault(natsx.ErrNoCopy)
	}
	return n, err
}

// holds reports whether the body of a piece is at hand.
func (f *copyFile) holds(p piece) bool {
	return f.body != nil && f.latest.seq == p.seq && f.latest.of == p.of
}

// read returns the bytes of a piece.
func (f *copyFile) read(p piece) ([]byte, error) {
	if !f.holds(p) {
		ctx, cancel := context.WithTimeout(f.of.ctx, readTime)
		defer cancel()
		m, err := f.of.from.GetCopy(ctx, p.of.stream, p.seq)
		if err != nil {
			return nil, p.fault(err)
		}
		if _, err := p.in(m.Data); err != nil {
			return nil, err
		}
		f.latest, f.body = p, m.Data
	}
	return p.in(f.body)
}

// in returns the piece of a body.
func (p piece) in(body []byte) ([]byte, error) {
	if len(body) != int(p.whole) {
		return nil, p.fault(fmt.Errorf("it has %d bytes now, and %d when it was listed", len(body), p.whole))
	}
	return body[p.skip : p.skip+p.bytes], nil
}

func (p piece) fault(err error) error {
	return fmt.Errorf("cannot read message %d of the stream %s: %w", p.seq, natsx.CopyStream(p.of.stream), err)
}
