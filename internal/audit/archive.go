package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tipstaff/internal/atomicfile"
	"tipstaff/internal/audit/seekable"
)

// Moved says what a [Keeper] has done with one trail.
type Moved struct {
	Trail    string
	Whole    bool
	Segments int
	Files    int   // other ones
	Bytes    int64 // that are free now
	Stored   int64 // in the archive
	Removed  bool  // the trail has no directory any more
}

// OpenArchive makes a directory one that this Keeper may archive to. An archive holds
// the trails of one directory, and the public key that belongs to them.
func (k *Keeper) OpenArchive(to string) error {
	if err := k.openArchive(to); err != nil {
		return fmt.Errorf("cannot archive to %s: %w", to, err)
	}
	return nil
}

func (k *Keeper) openArchive(to string) error {
	switch rel, err := filepath.Rel(k.dir, to); {
	case !filepath.IsAbs(to):
		return errors.New("it must be an absolute path, because statements name it")
	case err == nil && filepath.IsLocal(rel):
		return errors.New("it lies among the trails themselves: name a directory outside, best on another disk")
	}
	keys := filepath.Join(to, keysDir)
	held, err := ReadRegular(filepath.Join(keys, publicFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if key := strings.TrimSpace(string(held)); key != "" && !k.trust.accepts(key) || k.trust.keys == nil {
		return errors.New("it is the archive of another state directory, whose key is another: name a directory of its own")
	}
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return err
	}
	removeUnfinished(keys)
	own := filepath.Join(k.dir, keysDir)
	if err := putCopy(filepath.Join(own, rotationsFile), filepath.Join(keys, rotationsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Replace(filepath.Join(keys, publicFile), strings.NewReader(k.key.Public+"\n"), ofKeeper)
}

// Archive compresses the segments of a trail up to the given one into the archive in
// the directory to, which [Keeper.OpenArchive] has made, and removes them here; ""
// is the whole trail, which must have ended, with its recordings. Segments must be
// sealed.
func (k *Keeper) Archive(trail, to, last string) (Moved, error) {
	m, err := k.archive(trail, to, last)
	if err != nil {
		return m, fmt.Errorf("cannot archive %s: %w", trail, err)
	}
	return m, nil
}

func (k *Keeper) archive(trail, to, last string) (m Moved, err error) {
	m = Moved{Trail: trail, Whole: last == ""}
	t, err := k.open(trail)
	if err != nil {
		return m, err
	}
	s, err := k.newNote(t, Archived)
	if err != nil {
		return m, err
	}
	s.To = to
	left, err := k.describeRange(t, &s, last)
	if err != nil {
		return m, err
	}
	archiveDir := filepath.Join(to, trail)
	if err := os.MkdirAll(archiveDir, 0o700); err != nil {
		return m, err
	}
	removeUnfinished(archiveDir)
	if err := k.copyFiles(t, archiveDir, left, &s); err != nil {
		return m, err
	}
	if !s.hasRecords() && len(s.Files) == 0 {
		return m, nil
	}
	own := filepath.Join(t.Path, retentionFile)
	segments, files := s.Segments, s.Files
	if err := k.writeNotes(own, &s); err != nil {
		return m, err
	}
	if err := putCopy(own, filepath.Join(archiveDir, retentionFile)); err != nil {
		return m, err
	}
	for _, f := range slices.Concat(segments, files) {
		m.Bytes, m.Stored = m.Bytes+f.Bytes, m.Stored+f.StoredBytes
	}
	m.Segments, m.Files = len(segments), len(files)
	return m, removeStated(t.Path, slices.Concat(segments, files))
}

// ErrNotSealed is the error about a segment that is still written, or that no
// checkpoint covers yet.
var ErrNotSealed = errors.New("it is not sealed")

// describeRange makes s a statement about what lies here of a trail, up to a segment, or to the
// last one before it that a checkpoint covers; "" is to the end. It returns the names of
// these segments.
func (k *Keeper) describeRange(t TrailFiles, s *RetentionNote, last string) (names []string, err error) {
	found, err := t.verifyUnstated(k.trust, last, k.claimsAbout(filepath.Base(t.Path)))
	if err != nil {
		return nil, err
	}
	if last == "" {
		for _, m := range found.prefixes {
			names = append(names, m.segment)
		}
		if found.end.report.Closed {
			s.End = closed
		} else if s.End = abandoned; claimed(filepath.Join(t.Path, checkpointsFile)) {
			return nil, errors.New("a server writes it just now")
		}
		s.cover(&found.before, found.end)
		return names, nil
	}
	if !sealedFile(t, last) {
		return nil, fmt.Errorf("%w: %s", ErrNotSealed, last)
	}
	marks := found.prefixes
	for len(marks) > 0 && !marks[len(marks)-1].covered { // its checkpoint comes within seconds
		marks = marks[:len(marks)-1]
	}
	if len(marks) == 0 {
		return nil, fmt.Errorf("%w: no checkpoint covers the end of %s yet", ErrNotSealed, last)
	}
	for _, m := range marks {
		names = append(names, m.segment)
	}
	s.cover(&found.before, marks[len(marks)-1])
	return names, nil
}

// sealedFile reports whether a segment has another one behind it.
func sealedFile(t TrailFiles, name string) bool {
	return len(t.Segments) > 0 && filepath.Base(t.Segments[len(t.Segments)-1]) > name
}

// copyFiles writes the files of a trail into its directory in an archive, and names them in
// the statement.
func (k *Keeper) copyFiles(t TrailFiles, archiveDir string, segments []string, s *RetentionNote) error {
	for _, name := range segments {
		f, err := putPacked(t.Path, archiveDir, name)
		if err != nil {
			return err
		}
		s.Segments = append(s.Segments, f)
	}
	if err := putCopy(filepath.Join(t.Path, trailKeyFile), filepath.Join(archiveDir, trailKeyFile)); err != nil {
		return err
	}
	if !s.Whole() {
		return putCheckpoints(t.Path, archiveDir, s.Through)
	}
	files, err := otherFiles(t.Path)
	if err != nil {
		return err
	}
	for _, name := range files {
		write := putPacked
		if name == checkpointsFile {
			write = putPlain // signatures cannot be compressed
		}
		f, err := write(t.Path, archiveDir, name)
		if err != nil {
			return err
		}
		s.Files = append(s.Files, f)
	}
	return nil
}

// otherFiles returns the files of a trail that go with it when it is archived as a whole.
func otherFiles(trail string) (names []string, err error) {
	entries, err := os.ReadDir(trail)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == checkpointsFile {
			names = append(names, e.Name())
		}
		if !e.IsDir() || !plainName(e.Name()) {
			continue
		}
		below, err := os.ReadDir(filepath.Join(trail, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, f := range below {
			if f.Type().IsRegular() && plainName(f.Name()) {
				names = append(names, e.Name()+"/"+f.Name())
			}
		}
	}
	return names, nil
}

// putPacked packs a file of a trail, reads it back, and describes both.
func putPacked(trail, archiveDir, name string) (f StatedFile, err error) {
	f.Name = name
	in, err := OpenRegular(filepath.Join(trail, filepath.FromSlash(name)))
	if err != nil {
		return f, err
	}
	defer func() { _ = in.Close() }() // it was only read
	path := filepath.Join(archiveDir, filepath.FromSlash(name)) + seekable.Extension
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return f, err
	}
	content := sha256.New()
	out, written := io.Pipe()
	go func() { _ = written.CloseWithError(seekable.Write(written, io.TeeReader(in, content))) }()
	err = atomicfile.Replace(path, out, ofKeeper)
	_ = out.Close()
	if err != nil {
		return f, err
	}
	f.SHA256 = hex.EncodeToString(content.Sum(nil))
	if f.StoredSHA256, f.StoredBytes, err = (Files{}).sum(path); err != nil {
		return f, err
	}
	back, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer func() { _ = back.Close() }() // it was only read
	unpacked, err := seekable.NewReader(back, f.StoredBytes)
	if err != nil {
		return f, err
	}
	again := sha256.New()
	if f.Bytes, err = io.Copy(again, unpacked); err == nil && hex.EncodeToString(again.Sum(nil)) != f.SHA256 {
		err = fmt.Errorf("%s: what was read back is not what was written", path)
	}
	return f, err
}

// putPlain copies a file of a trail and describes it.
func putPlain(trail, archiveDir, name string) (f StatedFile, err error) {
	path := filepath.Join(archiveDir, name)
	if err := putCopy(filepath.Join(trail, name), path); err != nil {
		return f, err
	}
	sum, n, err := Files{}.sum(path)
	return StatedFile{name, n, sum, n, sum}, err
}

// putCheckpoints copies the checkpoints that cover no more than so many records: the
// others speak of records that are not in the archive.
func putCheckpoints(trail, archiveDir string, records uint64) error {
	data, err := ReadRegular(filepath.Join(trail, checkpointsFile))
	if err != nil {
		return err
	}
	end := 0
	for _, c := range Covered(data) {
		if c.Records > records {
			break
		}
		end += c.Bytes
	}
	return atomicfile.Replace(filepath.Join(archiveDir, checkpointsFile), bytes.NewReader(data[:end]), ofKeeper)
}

func putCopy(from, to string) error {
	in, err := OpenRegular(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	return atomicfile.Replace(to, in, ofKeeper)
}

// ofKeeper is how files in archives are.
var ofKeeper = atomicfile.Options{Mode: 0o600}

// removeUnfinished removes what a Keeper has left that died while it wrote, in a
// directory and those in it. Nothing else writes there.
func removeUnfinished(dir string) {
	for _, pattern := range []string{atomicfile.Prefix + "*", "*/" + atomicfile.Prefix + "*"} {
		left, _ := fs.Glob(os.DirFS(dir), pattern) // the pattern is well-formed
		for _, name := range left {
			_ = os.Remove(filepath.Join(dir, filepath.FromSlash(name))) // else it only takes room
		}
	}
}

// removeStated removes files of which a statement speaks, in its order.
func removeStated(trail string, files []StatedFile) error {
	var errs []error
	for _, f := range files {
		path := filepath.Join(trail, filepath.FromSlash(f.Name))
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		if dir := filepath.Dir(path); dir != trail {
			_ = os.Remove(dir) // if it is empty
		}
	}
	return errors.Join(errs...)
}
