package capture

import (
	"bytes"

	"tipstaff"
)

// Buffer keeps the head and the tail of a stream. Its memory stays below the
// limit, however much is written, and grows with the stream up to that. One
// goroutine writes; the other methods may be called when it has finished.
type Buffer struct {
	headMax, tailMax int

	head  []byte
	tail  []byte // a ring buffer once it holds tailMax bytes
	start int    // index of the ring's oldest byte

	total int64
	lines int64 // number of line ends in the whole stream

	watch func(p []byte) // see Watch
}

// NewBuffer returns a buffer that keeps at most limit bytes: 30 % of them from
// the beginning, the rest from the end, where results and errors usually are.
func NewBuffer(limit int) *Buffer {
	head := limit * 3 / 10
	return &Buffer{headMax: head, tailMax: limit - head}
}

// Watch registers f, which sees everything that is written, as it is written,
// after functions that were registered before. Its argument is valid during the
// call only. Watch must be called before the first Write.
func (b *Buffer) Watch(f func(p []byte)) {
	if first := b.watch; first != nil {
		b.watch = func(p []byte) { first(p); f(p) }
		return
	}
	b.watch = f
}

// Write keeps what fits. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	if b.watch != nil && len(p) > 0 {
		b.watch(p)
	}
	n := len(p)
	b.total += int64(n)
	b.lines += int64(bytes.Count(p, newline))
	if room := b.headMax - len(b.head); room > 0 {
		k := min(room, len(p))
		b.head = append(b.head, p[:k]...)
		p = p[k:]
	}
	b.writeTail(p)
	return n, nil
}

func (b *Buffer) writeTail(p []byte) {
	if len(p) > b.tailMax {
		p = p[len(p)-b.tailMax:]
	}
	if room := b.tailMax - len(b.tail); room > 0 {
		k := min(room, len(p))
		b.tail = append(b.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 { // the ring is full: overwrite the oldest bytes
		k := copy(b.tail[b.start:], p)
		b.start = (b.start + k) % len(b.tail)
		p = p[k:]
	}
}

// Total returns the number of bytes that were written.
func (b *Buffer) Total() int64 { return b.total }

// Stream returns what was kept: all of the stream if it is not longer than the
// limit, else its head and tail, cut between characters. The buffer must not be
// written to any more; head and tail are its memory.
func (b *Buffer) Stream() tipstaff.Stream {
	tail := b.ring()
	if b.total == int64(len(b.head)+len(tail)) {
		return tipstaff.Stream{Head: append(b.head, tail...)}
	}
	s := tipstaff.Stream{Head: trimEnd(b.head), Tail: trimStart(tail)}
	s.Dropped = b.total - int64(len(s.Head)+len(s.Tail))
	s.DroppedLines = b.lines - int64(bytes.Count(s.Head, newline)+bytes.Count(s.Tail, newline))
	return s
}

// ring returns the tail in the order of writing.
func (b *Buffer) ring() []byte {
	if b.start == 0 {
		return b.tail
	}
	return append(append(make([]byte, 0, len(b.tail)), b.tail[b.start:]...), b.tail[:b.start]...)
}

var newline = []byte{'\n'}
