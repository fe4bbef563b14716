package capture

import (
	"io"
	"sync"
)

// chunk is as much as a pipe holds by default.
const chunk = 64 << 10

// big is how much a stream has brought when it is worth a relay.
const big = 1 << 20

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// Drain reads r into b until r ends or fails. It never waits for anything but r.
func Drain(b *Buffer, r io.Reader) {
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	for b.Total() < big {
		if !read(b, r, buf[:]) {
			return
		}
	}
	faster, release := relayed(r)
	defer release()
	for read(b, faster, buf[:]) {
	}
}

// read takes what there is, and reports whether there may be more.
func read(b *Buffer, r io.Reader, buf []byte) bool {
	n, err := r.Read(buf)
	_, _ = b.Write(buf[:n])
	return err == nil
}
