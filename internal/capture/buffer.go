package capture

import (
	"bytes"

	"tipstaff"
)

// Buffer keeps the head and the tail of a stream. Its memory stays below the
// limit it was made with, whatever is written; short streams cost what they
// are long. One goroutine writes; the rest is read after it has finished.
type Buffer struct {
	headMax, tailMax int

	head  []byte
	tail  []byte // a ring once it holds tailMax bytes
	start int    // of the ring: its oldest byte

	total int64
	lines int64 // line ends in everything written

	watch func(p []byte) // see Watch
}

// NewBuffer returns a buffer that keeps at most limit bytes: 30 % of them from
// the beginning, the rest from the end, where results and errors stand.
func NewBuffer(limit int) *Buffer {
	head := limit * 3 / 10
	return &Buffer{headMax: head, tailMax: limit - head}
}

// Watch lets f see everything that is written, as it comes, after those who
// watch already. What it is given is good for the time of the call. It is called
// before the first write, or not at all.
func (b *Buffer) Watch(f func(p []byte)) {
	if first := b.watch; first != nil {
		b.watch = func(p []byte) { first(p); f(p) }
		return
	}
	b.watch = f
}

// Write keeps what there is room for. It never fails.
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
	for len(p) > 0 { // the ring is full: the oldest bytes give way
		k := copy(b.tail[b.start:], p)
		b.start = (b.start + k) % len(b.tail)
		p = p[k:]
	}
}

// Total is how many bytes were written.
func (b *Buffer) Total() int64 { return b.total }

// gapRoom is left free for the mark that an answer puts where bytes are missing.
const gapRoom = 64

// Stream returns what is kept when only limit bytes may be: everything if the
// stream is not longer, else its head and tail, cut between characters.
func (b *Buffer) Stream(limit int) tipstaff.Stream {
	kept := b.kept()
	if b.total <= int64(min(limit, len(kept))) {
		return tipstaff.Stream{Head: kept}
	}
	limit = max(min(limit, len(kept))-gapRoom, 0)
	headLen := min(limit*3/10, len(b.head))
	s := tipstaff.Stream{
		Head: trimEnd(kept[:headLen]),
		Tail: trimStart(kept[len(kept)-(limit-headLen):]),
	}
	s.Dropped = b.total - int64(len(s.Head)+len(s.Tail))
	s.DroppedLines = b.lines - int64(bytes.Count(s.Head, newline)+bytes.Count(s.Tail, newline))
	return s
}

// kept gives head and tail in one piece, in the order of writing.
func (b *Buffer) kept() []byte {
	if len(b.tail) == 0 {
		return b.head
	}
	all := make([]byte, 0, len(b.head)+len(b.tail))
	all = append(all, b.head...)
	all = append(all, b.tail[b.start:]...)
	return append(all, b.tail[:b.start]...)
}

var newline = []byte{'\n'}
