package capture

import (
	"io"
	"sync"
)

// chunk is as much as a pipe holds by default.
const chunk = 64 << 10

// big is how much a stream has brought when it is worth a relay.
const big = 1 << 20

// wide is how much the pipes of a big stream hold. Its writer and its reader have
// to wake each other less often. More than that is no faster: it does not stay in
// the processor's cache.
const wide = 256 << 10

// mostWide is how many streams may have wide pipes at a time. What the kernel
// grants a user for pipes (pipe-user-pages-soft, pipe(7)) is for all programs of
// that user; this is an eighth of it.
const mostWide = 16

var (
	chunks = sync.Pool{New: func() any { return new([chunk]byte) }}
	widths = make(chan struct{}, mostWide)
)

// Drain reads r into b until r ends or fails. It never waits for anything but r.
func Drain(b *Buffer, r io.Reader) {
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	for b.Total() < big {
		if !read(b, r, buf[:]) {
			return
		}
	}
	drainBig(b, r, buf[:])
}

// drainBig goes on with a stream that is worth it. buf is used where the stream
// gets no wider one.
func drainBig(b *Buffer, r io.Reader, buf []byte) {
	select {
	case widths <- struct{}{}:
		defer func() { <-widths }()
		buf = make([]byte, wide)
	default:
	}
	faster, release := relayed(r, len(buf))
	defer release()
	for read(b, faster, buf) {
	}
}

// read takes what there is, and reports whether there may be more.
func read(b *Buffer, r io.Reader, buf []byte) bool {
	n, err := r.Read(buf)
	_, _ = b.Write(buf[:n])
	return err == nil
}
