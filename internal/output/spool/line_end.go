package spool

import "bytes"

// LineEnd returns the offset behind the last line end that came after from, of any
// stream, or from if none did. It looks back over at most the last within bytes.
func (o *Output) LineEnd(from int64, within int) (int64, error) {
	w, err := o.load(max(from, o.Size()-int64(within)), o.Size())
	if err != nil {
		return from, err
	}
	for i := len(w.chunks) - 1; i >= 0; i-- {
		c := w.chunks[i]
		if n := bytes.LastIndexByte(c.data, '\n'); n >= 0 {
			return c.at + int64(n) + 1, nil
		}
	}
	return from, nil
}
