package seekable

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Reader reads the content of a packed file. It is for one goroutine.
type Reader struct {
	in     io.ReaderAt
	frames []place
	size   int64

	pos    int64  // of Read
	held   int    // index of the frame that was decoded last
	out    []byte // its content
	packed []byte // room for a frame as it lies in the file
}

// NewReader reads a packed file of so many bytes.
func NewReader(in io.ReaderAt, size int64) (*Reader, error) {
	if size < skipHeader+footerBytes {
		return nil, fmt.Errorf("%w: it is too short", ErrCorrupt)
	}
	last := make([]byte, footerBytes)
	if err := readAll(in, last, size-footerBytes); err != nil {
		return nil, err
	}
	n, err := footer(last)
	if err != nil {
		return nil, err
	}
	table := make([]byte, skipHeader+n*entryBytes+footerBytes)
	at := size - int64(len(table))
	if at < 0 {
		return nil, fmt.Errorf("%w: it is shorter than the table of its frames", ErrCorrupt)
	}
	if err := readAll(in, table, at); err != nil {
		return nil, err
	}
	r := &Reader{in: in, held: -1}
	r.frames, r.size, err = parseTable(table, n, at)
	return r, err
}

// readAll fills p, and takes the end of the file for damage.
func readAll(in io.ReaderAt, p []byte, at int64) error {
	n, err := in.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil, errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it has become shorter", ErrCorrupt)
	}
	return err
}

// Size is the size of the content.
func (r *Reader) Size() int64 { return r.size }

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.readSome(p, r.pos)
	r.pos += int64(n)
	return n, err
}

// ReadAt implements [io.ReaderAt].
func (r *Reader) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		more, err := r.readSome(p[n:], at+int64(n))
		n += more
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// readSome reads what one frame has of p.
func (r *Reader) readSome(p []byte, at int64) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case at < 0:
		return 0, errors.New("cannot read before the beginning")
	case at >= r.size:
		return 0, io.EOF
	}
	i := sort.Search(len(r.frames), func(i int) bool { return r.frames[i].from > at }) - 1
	if err := r.decode(i); err != nil {
		return 0, err
	}
	return copy(p, r.out[at-r.frames[i].from:]), nil
}

// decoder holds no state of a file. It never makes more of a frame than one can
// have.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(FrameBytes))
})

// decode holds the content of a frame ready.
func (r *Reader) decode(i int) error {
	if i == r.held {
		return nil
	}
	f := r.frames[i]
	if cap(r.packed) < int(f.packed) {
		r.packed = make([]byte, f.packed)
	}
	packed := r.packed[:f.packed]
	r.held = -1
	if err := readAll(r.in, packed, f.at); err != nil {
		return err
	}
	zstd, err := decoder()
	if err != nil {
		return err
	}
	if cap(r.out) < int(f.content) {
		r.out = make([]byte, 0, f.content)
	}
	r.out, err = zstd.DecodeAll(packed, r.out[:0])
	if err != nil {
		return fmt.Errorf("%w: frame %d: %v", ErrCorrupt, i+1, err)
	}
	if len(r.out) != int(f.content) {
		return fmt.Errorf("%w: frame %d has another size than the table says", ErrCorrupt, i+1)
	}
	r.held = i
	return nil
}
