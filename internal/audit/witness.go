package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// witness is what the checkpoints of one trail say, as the records go by.
type witness struct {
	key    string
	signed []statement // in the order of their sizes
	fault  *Fault      // what is wrong with the checkpoints themselves
	next   int         // of signed
	closed bool

	tree  tree
	bare  Fault     // where the first record stands that is not covered yet
	since time.Time // and its time
}

// statement is a checkpoint that holds for a trail.
type statement struct {
	Checkpoint
	kept bool // elsewhere, by who verifies
}

// patience is how long records may stay without a checkpoint: one is due every
// ten seconds, and it waits for the disk.
const patience = time.Minute

// witness reads the checkpoints of a trail. One that is nothing but lines (its
// name is no trail's, and it has no key) has none.
func (t TrailFiles) witness(trusted trust, kept [][]byte) (*witness, error) {
	name := filepath.Base(t.Path)
	key, err := os.ReadFile(filepath.Join(t.Path, trailKeyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(t.Path, checkpointsFile))
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

// testify holds a record that is sound in itself to the checkpoints.
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
			continue // of no record at all
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
}

// blame notes a fault of which the record is known.
func (c *checker) blame(s Status, at Fault, r Reason) {
	at.Reason = r
	c.report.Status, c.report.Fault = s, &at
}

// finish says what the checkpoints have to say when all records have gone by. It
// can be worse than a line that a crash has torn.
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

// keptNotes are checkpoints that the verifier brought, by trail.
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
		text, _, _ := strings.Cut(string(msg), "\n\n")
		c, err := parseCheckpoint(text + "\n")
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

// of gives those of a trail, and forgets them.
func (k keptNotes) of(path string) [][]byte {
	name := filepath.Base(path)
	notes := k[name]
	delete(k, name)
	return notes
}

// rest reports the trails that are not there any more.
func (k keptNotes) rest(dir string) (reports []TrailReport) {
	for name := range k {
		path := filepath.Join(dir, name)
		reports = append(reports, TrailReport{Path: path, Status: Tampered, Fault: &Fault{Reason: TrailGone, Seq: 1, File: path}})
	}
	slices.SortFunc(reports, func(a, b TrailReport) int { return strings.Compare(a.Path, b.Path) })
	return reports
}
