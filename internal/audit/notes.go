package audit

import (
	"bytes"
	"errors"
	"io"
)

// A file of checkpoints may be long, and on a remote store each read costs a round trip.
// So a single checkpoint is searched for by bisection: checkpoints are written in the
// order of their sizes.

// noteWindow is more than two checkpoints take.
const noteWindow = 8 << 10

// notesFile is a file of checkpoints.
type notesFile struct {
	File
	size int64
}

func (f Files) openNotes(path string) (notesFile, error) {
	file, err := f.Open(path)
	if err != nil {
		return notesFile{}, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return notesFile{}, err
	}
	return notesFile{file, info.Size()}, nil
}

// from returns the whole checkpoints in a window that begins at an offset, and where
// the first of them begins. It returns none if the window holds none.
func (n notesFile) from(at int64) (notes [][]byte, begins int64, err error) {
	data := make([]byte, min(noteWindow, n.size-at))
	if _, err := n.ReadAt(data, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	skip := 0
	if at > 0 && !bytes.HasPrefix(data, []byte(originPrefix)) { // the rest of one, which has an empty line in it, too
		for {
			next := bytes.Index(data[skip:], []byte("\n\n"))
			if next < 0 {
				return nil, 0, nil
			}
			skip += next + 2
			if bytes.HasPrefix(data[skip:], []byte(originPrefix)) {
				break
			}
		}
	}
	notes, _ = splitNotes(data[skip:])
	return notes, at + int64(skip), nil
}

// firstNote returns the first checkpoint of at least seq records, nil if there is none.
// It searches by bisection, because checkpoints are written in the order of their
// sizes, and checks no signature.
func (f Files) firstNote(path string, seq uint64) ([]byte, error) {
	n, err := f.openNotes(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = n.Close() }() // it was only read
	low, high := int64(0), n.size    // what begins before low is of fewer records
	for high-low > noteWindow {
		middle := low + (high-low)/2
		notes, begins, err := n.from(middle)
		switch {
		case err != nil:
			return nil, err
		case len(notes) > 0 && sizeOf(notes[0]) < seq:
			low = begins
		default:
			high = middle
		}
	}
	for seq > 0 {
		notes, begins, err := n.from(low)
		if err != nil || len(notes) == 0 {
			return nil, err
		}
		for _, note := range notes {
			if sizeOf(note) >= seq { // as it is written; the signature is checked next
				return bytes.Clone(note), nil
			}
		}
		low = begins + noteBytes(notes)
		if low >= n.size {
			break
		}
	}
	return nil, nil
}

// lastNote returns the last whole checkpoint, nil if there is none. It reads from the
// end and checks no signature.
func (f Files) lastNote(path string) ([]byte, error) {
	n, err := f.openNotes(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = n.Close() }() // it was only read
	for at := max(n.size-noteWindow, 0); ; at = max(at-noteWindow/2, 0) {
		notes, _, err := n.from(at)
		switch {
		case err != nil:
			return nil, err
		case len(notes) > 0:
			return bytes.Clone(notes[len(notes)-1]), nil
		case at == 0:
			return nil, nil
		}
	}
}
