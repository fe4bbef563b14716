package spool

import (
	"fmt"
	"sort"

	"tipstaff/internal/plainfile"
)

// load returns what is kept between two offsets.
func (o *Output) load(from, to int64) (w window, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.removed {
		return w, ErrGone
	}
	from = max(from, 0)
	to = max(from, min(to, o.total))
	w = window{total: o.total, done: o.done, from: from, until: to}
	file := o.file
	defer func() {
		if file != o.file {
			_ = file.Close()
		}
	}()
	i := sort.Search(len(o.blocks), func(i int) bool { return o.blocks[i].end() > from })
	for ; i < len(o.blocks) && o.blocks[i].from < to; i++ {
		b := o.blocks[i]
		if b.mem != nil {
			w.add(*b.mem, true)
			continue
		}
		if file == nil {
			if file, err = plainfile.Open(o.path); err != nil {
				return w, fmt.Errorf("%w: %w", ErrGone, err)
			}
		}
		h, err := o.readBlock(file, b, from, to)
		if err != nil {
			return w, fmt.Errorf("%w: %w", ErrGone, err)
		}
		w.add(h, false)
	}
	w.add(o.buf, true)
	return w, nil
}

// add adds what a buffer has of the window. shared says that the buffer may change
// when the output is no longer locked.
func (w *window) add(h interleaveBuffer, shared bool) {
	at := h.from
	for _, r := range h.runs {
		begin := at - h.from
		c := chunk{at: at, from: r.stream, data: h.data[begin : begin+int64(r.n)]}.cut(w.from, w.until)
		at += int64(r.n)
		if len(c.data) == 0 {
			continue
		}
		if shared {
			c.data = append([]byte(nil), c.data...)
		}
		w.chunks = append(w.chunks, c)
	}
}
