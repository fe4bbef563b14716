package capture

import (
	"io"
	"sync"
)

// chunk is the default capacity of a pipe.
const chunk = 64 << 10

// big is the number of bytes after which a stream gets a relay.
const big = 1 << 20

// wide is the capacity of the pipes of a big stream, so that its writer and
// reader wake each other less often. More is no faster, because it does not fit
// into the processor's cache.
const wide = 256 << 10

// mostWide bounds the streams with wide pipes. The kernel's limit for pipes
// (pipe-user-pages-soft, pipe(7)) is for all programs of a user; this is an
// eighth of it.
const mostWide = 16

var (
	chunks = sync.Pool{New: func() any { return new([chunk]byte) }}
	widths = make(chan struct{}, mostWide)
)

// Drain reads r into b until r ends or fails. It waits for nothing but r.
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

// drainBig continues with a big stream. It uses buf if the stream gets no wide
// pipe.
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

// read reads once, and reports whether more may follow.
func read(b *Buffer, r io.Reader, buf []byte) bool {
	n, err := r.Read(buf)
	_, _ = b.Write(buf[:n])
	return err == nil
}
