package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// witness compares the records of one trail with its checkpoints.
type witness struct {
	key    string
	signed []statement // sorted by size
	fault  *Fault      // what is wrong with the checkpoints themselves
	next   int         // index in signed
	heard  int64       // bytes of the file of checkpoints
	closed bool

	tree  tree
	bare  Fault     // place of the first record that is not covered yet
	since time.Time // time of that record
}

// statement is a checkpoint that is valid for a trail.
type statement struct {
	Checkpoint
	kept bool // kept elsewhere, by the verifier
}

// patience is how long records may stay without a checkpoint. One is due every
// ten seconds, and waits for the disk.
const patience = time.Minute

// witness reads the checkpoints of a trail. A directory with nothing but lines,
// without a key and without the name of a trail, has none.
func (t TrailFiles) witness(trusted trust, kept [][]byte) (*witness, error) {
	name := filepath.Base(t.Path)
	key, err := t.in.ReadFile(filepath.Join(t.Path, trailKeyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	data, err := t.in.ReadFile(filepath.Join(t.Path, checkpointsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(key) == 0 && len(data) == 0 && len(kept) == 0 && !trailName().MatchString(name) {
		return nil, nil
	}
	w := &witness{key: strings.TrimSpace(string(key))}
	if len(key) == 0 && len(data) == 0 {
		return w, nil // and so no checkpoint
	}
	switch {
	case !isKey(w.key):
		return w.blame(BadCheckpoint), nil
	case !trusted.accepts(w.key):
		return w.blame(ForeignKey), nil
	}
	known, err := verifiers(w.key)
	if err != nil {
		return nil, err
	}
	notes, _ := splitNotes(data) // a crash may have torn the last one
	w.heard = noteBytes(notes)
	for _, msg := range notes {
		if !w.hear(msg, known, name, false) {
			return w, nil
		}
	}
	for _, msg := range kept {
		if !w.hear(msg, known, name, true) {
			return w, nil
		}
	}
	slices.SortStableFunc(w.signed, func(a, b statement) int { return cmp.Compare(a.Size, b.Size) })
	return w, nil
}

// hear adds a checkpoint.
func (w *witness) hear(msg []byte, known note.Verifiers, trail string, kept bool) bool {
	c, err := openCheckpoint(msg, known)
	if err != nil || c.Trail != trail && trailName().MatchString(trail) {
		w.blame(BadCheckpoint)
		return false
	}
	w.signed = append(w.signed, statement{c, kept})
	w.closed = w.closed || c.End == closed
	return true
}

func (w *witness) blame(r Reason) *witness {
	w.fault = &Fault{Reason: r}
	return w
}

// testify compares a sound record with the checkpoints.
func (c *checker) testify(s *sight, at Fault) {
	w := c.witness
	w.tree.addLeaf(s.leaf)
	if w.bare.Line == 0 {
		w.bare, w.since = at, s.head.Time
		w.bare.Seq = s.head.Seq
	}
	for ; w.next < len(w.signed) && w.signed[w.next].Size <= w.tree.n; w.next++ {
		claim := w.signed[w.next]
		if claim.Size != w.tree.n {
			continue // it covers no record
		}
		if claim.Root != w.tree.root() {
			reason := Forged
			if claim.kept {
				reason = RolledBack
			}
			c.blame(Tampered, w.bare, reason)
			return
		}
		c.report.Signed, w.bare = claim.Size, Fault{}
	}
	if c.covered != nil && w.bare.Line == 0 {
		c.covered(s, at)
	}
}

// blame records a fault of a known record.
func (c *checker) blame(s Status, at Fault, r Reason) {
	at.Reason = r
	c.report.Status, c.report.Fault = s, &at
}

// finish evaluates the checkpoints after the last record. The result can be
// worse than that of a torn line.
func (c *checker) finish() {
	w := c.witness
	if w == nil || c.report.Status == Tampered {
		return
	}
	c.report.Key, c.report.Closed = w.key, w.closed
	at := c.end
	at.Seq = c.expected()
	switch {
	case w.next < len(w.signed):
		reason := CutOff
		if w.signed[w.next].kept {
			reason = RolledBack
		}
		c.blame(Tampered, at, reason)
	case w.fault != nil:
		if w.bare.Line != 0 {
			at = w.bare
		}
		c.blame(Tampered, at, w.fault.Reason)
	case c.report.Fault != nil:
	case len(w.signed) == 0:
		c.blame(Incomplete, at, NoCheckpoint)
	case w.bare.Line != 0 && c.report.Last.Sub(w.since) > patience:
		c.blame(Incomplete, w.bare, Unsigned)
	}
}

// keptNotes are the checkpoints that the verifier kept, by trail.
type keptNotes map[string][][]byte

func parseKept(data []byte) (keptNotes, error) {
	kept := keptNotes{}
	if len(data) == 0 {
		return kept, nil
	}
	// One that was copied by hand may lack the empty line at its end.
	data = append(slices.Clip([]byte(strings.TrimRight(string(data), "\n"))), "\n\n"...)
	notes, torn := splitNotes(data)
	for _, msg := range notes {
		c, err := parseCheckpoint(noteText(msg))
		if err != nil {
			return nil, fmt.Errorf("what you kept cannot be read: %w", err)
		}
		kept[c.Trail] = append(kept[c.Trail], msg)
	}
	if torn || len(notes) == 0 {
		return nil, fmt.Errorf("what you kept cannot be read: %w", errNoCheckpoint)
	}
	return kept, nil
}

// of returns the checkpoints of a trail, and removes them.
func (k keptNotes) of(path string) [][]byte {
	name := filepath.Base(path)
	notes := k[name]
	delete(k, name)
	return notes
}

// rest reports trails that no longer exist.
func (k keptNotes) rest(dir string) (reports []TrailReport) {
	for name := range k {
		path := filepath.Join(dir, name)
		reports = append(reports, TrailReport{Path: path, Status: Tampered, Fault: &Fault{Reason: TrailGone, Seq: 1, File: path}})
	}
	slices.SortFunc(reports, func(a, b TrailReport) int { return strings.Compare(a.Path, b.Path) })
	return reports
}
