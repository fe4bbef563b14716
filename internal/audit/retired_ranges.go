package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// retiredRanges says how a checker passes over records that are no longer in the trail.
// The retention notes hold the state of chain and tree behind each range, signed, so
// that the checker continues there as if it had read the range.
type retiredRanges struct {
	retention

	trail          string
	notesOnly      bool   // archives are not read: the retention note is enough
	missingArchive *Fault // an archive that is not there
}

// retiredRanges reads the retention notes of a trail, and returns nil if it has none.
// trusted says whose retention notes count.
func (t TrailFiles) retiredRanges(trusted trust) (*retiredRanges, error) {
	keyText, _, err := t.readBeside(trailKeyFile) // one that is no file is for the checkpoint verifier to say
	if err != nil {
		return nil, err
	}
	r, err := t.in.retention(t.Path, func(key string) []string {
		if key+"\n" != string(keyText) {
			return nil
		}
		return trusted.after(key)
	})
	if err != nil || len(r.list) == 0 && r.err == nil {
		return nil, err
	}
	return &retiredRanges{retention: r, trail: t.Path}, nil
}

// fault is a fault of retention notes that cannot be believed.
func (p *retiredRanges) fault(r Reason) Fault {
	return Fault{Reason: r, File: filepath.Join(p.trail, retentionFile), Line: 1}
}

// checkNotes checks the retention notes themselves, and the archived files that are no
// segments, of which only hashes are known. done reports that nothing else is to be
// checked: a note is forged, so nothing that it says can be used.
func (c *checker) checkNotes() (done bool, err error) {
	p := c.retired
	if p == nil {
		return false, nil
	}
	c.report.Retained = &Retained{p.list}
	if p.err != nil {
		c.fail(Tampered, p.fault(BadStatement))
		return true, nil //nolint:nilerr // it is a fault of the trail, and in the report
	}
	for i := range p.list {
		s := &p.list[i]
		if s.Act != Archived || p.notesOnly {
			continue
		}
		for _, file := range s.Files {
			if p.noteOf(file.Name) != s {
				continue
			}
			if _, err := c.checkStored(s, file); err != nil {
				return true, err
			}
		}
	}
	return c.report.Fault != nil, nil
}

// enterSegment prepares for a segment. It passes over what was retired before it, and
// over the segment itself if that is in an archive that cannot be read; skip reports
// the latter.
func (c *checker) enterSegment(path string) (skip bool, err error) {
	p := c.retired
	if p == nil {
		return false, nil
	}
	name := filepath.Base(path)
	c.skipRetired(name)
	s := p.noteOf(name)
	if s == nil || s.Act != Archived || c.report.Fault != nil {
		return c.report.Fault != nil, nil
	}
	if s.Through < c.expected() && s.From <= s.Through {
		return true, nil // the note was enough for all its segments
	}
	if info, err := c.in.lstat(path); err == nil && info.Mode().IsRegular() {
		return false, nil // it was not removed yet
	}
	if !p.notesOnly {
		for _, file := range s.Segments {
			if file.Name != name {
				continue
			}
			found, err := c.checkStored(s, file)
			if err != nil || found || c.report.Fault != nil {
				return !found || c.report.Fault != nil, err
			}
		}
	}
	c.skipRange(s)
	return true, nil
}

// skipRetired passes over all that was retired before a segment; "" is the end of the
// trail.
func (c *checker) skipRetired(name string) {
	for i := range c.retired.list {
		s := &c.retired.list[i]
		if s.Act != Retired || !s.hasRecords() || s.Through < c.expected() || c.report.Fault != nil {
			continue
		}
		if last := len(s.Segments) - 1; name != "" && last >= 0 && s.Segments[last].Name >= name {
			continue
		}
		c.skipRange(s)
	}
}

// skipRange takes over the state behind the records of a retention note. The note must
// begin at the next record, and agree with a checkpoint of its last record; else
// records are missing or replaced, and the trail counts as tampered.
func (c *checker) skipRange(s *RetentionNote) {
	if s.From > c.expected() || s.From < c.expected() && s.Act == Retired {
		c.fail(Tampered, c.retired.fault(Missing))
		return
	}
	if c.report.Records == 0 {
		c.report.First = s.First
	}
	if c.report.Records = s.Through; !s.Last.IsZero() {
		c.report.Last = s.Last
	}
	c.prev, c.anyStart = s.chain, false
	w := c.checkpoints
	if w == nil {
		return
	}
	w.tree = tree{s.tree.n, append(w.tree.roots[:0:0], s.tree.roots...)}
	w.uncovered = Fault{}
	for ; w.next < len(w.signed) && w.signed[w.next].Size <= s.Through; w.next++ {
		claim := w.signed[w.next]
		if claim.Size == s.Through && claim.Root != s.Root {
			c.fail(Tampered, c.retired.fault(Forged))
			return
		}
	}
	c.report.Signed = s.Through
	if s.End == closed { // the checkpoint that says so may lie in an archive that is away
		w.ended, w.endAt = closed, s.Through
	}
}

// finishSegments comes after the last segment. It passes over what was retired at the
// end, and checks that nothing follows a note that says that the trail has ended.
func (c *checker) finishSegments(segments int) {
	p := c.retired
	if p == nil || c.report.Fault != nil {
		return
	}
	c.skipRetired("")
	ended := false
	for i := range p.list {
		s := &p.list[i]
		if ended = ended || s.Whole(); s.Whole() && c.report.Records > s.Through {
			c.fail(Tampered, p.fault(Inserted))
		}
	}
	switch {
	case c.report.Fault != nil:
	case segments == 0 && !ended: // a server begins another file before it seals one
		c.fail(Tampered, p.fault(Missing))
	case p.missingArchive != nil:
		c.fail(Incomplete, *p.missingArchive)
	}
	if c.end.File == "" {
		c.end = p.fault("")
	}
}

// checkArchivedRange comes after the last segment of an archived range was read. What
// was read must lead to the state that the signed note names.
func (c *checker) checkArchivedRange(path string) {
	p := c.retired
	if p == nil || c.report.Fault != nil {
		return
	}
	s := p.noteOf(filepath.Base(path))
	if s == nil || s.Act != Archived || s.Segments[len(s.Segments)-1].Name != filepath.Base(path) {
		return
	}
	if c.report.Records != s.Through || c.prev != s.chain || c.checkpoints != nil && c.checkpoints.tree.root() != s.Root {
		c.fail(Tampered, p.fault(Forged))
	}
}

// checkStored compares a file of an archive with its retention note. It tells an
// archive that is not mounted now, which is remembered, from a file that is missing in
// an archive that is there, which was removed.
func (c *checker) checkStored(s *RetentionNote, file StatedFile) (found bool, err error) {
	path := filepath.Join(c.retired.trail, filepath.FromSlash(file.Name))
	at, packed, err := c.in.stored(path)
	fault := Fault{File: path, Line: 1}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.in.archivePresent(s) {
			fault.Reason = ArchiveGone
			c.fail(Tampered, fault)
		} else if fault.File = filepath.Join(s.To, s.Trail); c.retired.missingArchive == nil {
			fault.Reason = ArchiveAway
			c.retired.missingArchive = &fault
		}
		return false, nil
	case err != nil:
		return false, err
	}
	want, bytes := file.SHA256, file.Bytes
	if packed {
		want, bytes = file.StoredSHA256, file.StoredBytes
	}
	sum, err := c.in.sumOf(at, bytes)
	if err != nil {
		return true, err
	}
	if fault.File = at; sum != want {
		fault.Reason = ArchiveAltered
		c.fail(Tampered, fault)
	}
	return true, nil
}

// archivePresent reports whether the archive of a note is there, where the note or the
// reader says. A directory counts as an archive if it has the public key of the trails.
func (f Files) archivePresent(s *RetentionNote) bool {
	if _, err := f.lstat(filepath.Join(s.To, keysDir, publicFile)); err == nil {
		return true
	}
	return slices.ContainsFunc(f.Archives, func(dir string) bool {
		_, err := f.lstat(filepath.Join(dir, s.Trail))
		return err == nil
	})
}

// sumOf returns the SHA-256 of a file that should have the given size, "" if it has
// another one: a file that is too large may have terabytes, and is not read.
func (f Files) sumOf(path string, bytes int64) (sum string, err error) {
	if info, err := f.stat(path); err != nil || info.Size() != bytes {
		return "", err
	}
	sum, n, err := f.sum(path)
	if n != bytes {
		return "", err
	}
	return sum, err
}

// sum returns the SHA-256 of a file, and its size.
func (f Files) sum(path string) (sum string, n int64, err error) {
	file, err := f.open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	hash := sha256.New()
	n, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), n, err
}
