package spool

import "bytes"

// Bounds of LastLine.
const (
	// lastWindow is how much is looked at for the last line, and as much before it to
	// know a secret by what introduces it.
	lastWindow = 512
	// keyLine is from which length on a line without blanks may be of a key that began
	// far before it; then the rules look as far as Read does.
	keyLine = 24
)

// LastLine returns the end of the output from its last line on that is not blank, at
// most 512 bytes. It costs much less than Tail, because it looks at less; what it hides
// is the same.
func (o *Output) LastLine() ([]byte, error) {
	total := o.Size()
	w, err := o.load(total-lastWindow, total)
	if err != nil {
		return nil, err
	}
	var raw []byte
	for _, c := range w.chunks {
		raw = append(raw, c.data...)
	}
	end := bytes.TrimRight(raw, " \t\r\n")
	begin := bytes.LastIndexAny(end, "\r\n") + 1
	far := lastWindow
	if line := end[begin:]; len(line) >= keyLine && !bytes.ContainsAny(line, " \t") || begin == 0 {
		far = around
	}
	// What is taken counts from the end: between two chunks something may be missing.
	w, err = o.load(total-int64(len(raw)-begin), total)
	if err != nil {
		return nil, err
	}
	p, err := o.showWithin(w, Both, int64(far))
	return p.Text, err
}
