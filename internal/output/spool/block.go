package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
)

// block is a part of an output that is written in one go, and its index entry:
// the bytes first, then the lengths of its runs as varints, if there is more than
// one. The streams of the runs alternate.
type block struct {
	from  int64 // offset in the output
	at    int64 // offset in the file
	n     int   // bytes of output
	runs  int   // bytes of the lengths behind them
	first Stream
	mem   *interleaveBuffer // not nil: it is not in the file but here
}

func (b block) end() int64 { return b.from + int64(b.n) }

// errBound: the file of a command, or all files, are as big as they may be.
var errBound = errors.New("the bound of the spool is reached")

// flush writes what is held, or makes the output full.
func (o *Output) flush() {
	if len(o.buf.data) > 0 && !o.full {
		o.writeBuffer(false)
	}
}

// writeBuffer writes what is held. last says that it may go beyond the bound of
// the command: it is the end of its output.
func (o *Output) writeBuffer(last bool) {
	h := &o.buf
	if len(h.data) == 0 {
		return
	}
	var lengths []byte
	if len(h.runs) > 1 {
		for _, r := range h.runs {
			lengths = binary.AppendUvarint(lengths, uint64(r.n))
		}
	}
	b := block{from: h.from, n: len(h.data), runs: len(lengths), first: h.runs[0].stream}
	if !o.write(b, last, h.data, lengths) {
		return
	}
	if last {
		*h = interleaveBuffer{from: h.end()}
		return
	}
	h.clear()
}

// writeThrough writes p without a copy. Nothing is held.
func (o *Output) writeThrough(from Stream, p []byte) {
	if o.write(block{from: o.buf.from, n: len(p), first: from}, false, p) {
		o.buf.from += int64(len(p))
		return
	}
	o.keepLast(from, p)
}

// write appends a block of these parts to the file. If that cannot be, the
// output is full from here on.
func (o *Output) write(b block, last bool, parts ...[]byte) bool {
	err := o.tryWrite(&b, last, parts)
	if err != nil {
		o.full = true
		if !errors.Is(err, errBound) {
			o.store.warn(err)
		}
		return false
	}
	if n := len(o.blocks); n > 0 && o.blocks[n-1].end() != b.from {
		o.gap = true
	}
	o.blocks = append(o.blocks, b)
	return true
}

func (o *Output) tryWrite(b *block, last bool, parts [][]byte) error {
	n := int64(b.n + b.runs)
	if o.size+n > o.store.opts.MaxBytes && !last || !o.store.reserve(n) {
		return errBound
	}
	if o.path == "" {
		if err := o.create(); err != nil {
			o.store.release(n)
			return err
		}
	}
	b.at = o.size
	at := o.size
	for _, p := range parts {
		if err := o.append(at, p); err != nil {
			o.broken = true
			o.store.release(n)
			if len(o.blocks) == 0 { // there is nothing in the file
				_ = o.file.Close()
				_ = os.Remove(o.path)
				o.file, o.path = nil, ""
			}
			return err
		}
		at += int64(len(p))
	}
	o.size += n
	return nil
}

func (o *Output) create() error {
	path, file, err := o.store.dir.create(o.serial)
	if err != nil {
		o.broken = true
		return err
	}
	o.path, o.file = path, file
	return nil
}

var scratch = sync.Pool{New: func() any { return new([batch]byte) }}

// append encrypts p and writes it at offset at of the file.
func (o *Output) append(at int64, p []byte) error {
	room := scratch.Get().(*[batch]byte)
	defer scratch.Put(room)
	for len(p) > 0 {
		part := room[:min(len(p), len(room))]
		seal(o.store.block, o.serial, at, part, p[:len(part)])
		if _, err := o.file.WriteAt(part, at); err != nil {
			return fmt.Errorf("cannot write: %w", err)
		}
		at += int64(len(part))
		p = p[len(part):]
	}
	return nil
}

// readBlock returns a block as it was held, or the part of it that lies between
// two offsets. The caller holds o.mu.
func (o *Output) readBlock(file *os.File, b block, from, to int64) (interleaveBuffer, error) {
	if b.runs == 0 { // a part can be read alone
		skip := max(0, from-b.from)
		b.from, b.at = b.from+skip, b.at+skip
		b.n = int(min(int64(b.n)-skip, to-b.from))
	}
	raw := make([]byte, b.n+b.runs)
	if _, err := file.ReadAt(raw, b.at); err != nil {
		return interleaveBuffer{}, fmt.Errorf("cannot read: %w", err)
	}
	seal(o.store.block, o.serial, b.at, raw, raw)
	h := interleaveBuffer{from: b.from, data: raw[:b.n:b.n], runs: []run{{b.first, b.n}}}
	if b.runs == 0 {
		return h, nil
	}
	h.runs = h.runs[:0]
	stream, total := b.first, 0
	for lengths := raw[b.n:]; len(lengths) > 0; {
		n, k := binary.Uvarint(lengths)
		if k <= 0 || n > uint64(b.n-total) {
			return interleaveBuffer{}, errChanged
		}
		h.runs = append(h.runs, run{stream, int(n)})
		lengths = lengths[k:]
		total += int(n)
		stream = Stdout + Stderr - stream
	}
	if total != b.n {
		return interleaveBuffer{}, errChanged
	}
	return h, nil
}

// errChanged: the lengths in the file are not those that were written.
var errChanged = errors.New("the file was changed")
