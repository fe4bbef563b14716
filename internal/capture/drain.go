package capture

import (
	"io"
	"sync"
)

// chunk is as much as a pipe holds by default.
const chunk = 64 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// Drain reads r into b until r ends or fails. It never waits for anything but r.
func Drain(b *Buffer, r io.Reader) {
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	for {
		n, err := r.Read(buf[:])
		_, _ = b.Write(buf[:n])
		if err != nil {
			return
		}
	}
}
