package audit

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// VerifyOptions are what a verifier knows of his own. The zero one knows nothing
// and believes the public key that is kept beside the trails: it finds whoever
// does not have the private one.
type VerifyOptions struct {
	// Public is the key that signs, or one that it was rotated from or to.
	Public string
	// Since are checkpoints that were kept elsewhere, as they were written: the
	// trails have to go on from there.
	Since []byte
}

// Verify checks the chain and the checkpoints of a trail (its directory), of
// every trail in the directory that holds them, or the chain of one segment (a
// file). A trail that a crash ended is sound, also without a server.stop; if the
// crash tore its last line, or came before the first checkpoint, it is
// [Incomplete]. An error means that something could not be read, or that what
// the verifier brought is no key or no checkpoint.
//
// What neither can show is that a trail, with its checkpoints, was put back to an
// earlier state; see the package comment.
//
// Verify uses the same memory for every length, but for the checkpoints.
func Verify(path string, o VerifyOptions) (Report, error) {
	report, err := verify(path, o)
	if err != nil {
		return report, fmt.Errorf("cannot verify: %w", err)
	}
	return report, nil
}

func verify(path string, o VerifyOptions) (report Report, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return report, err
	}
	if !info.IsDir() {
		one, err := trailFiles{path: path, segments: []string{path}}.verify(nil)
		return Report{Trails: []TrailReport{one}}, err
	}
	trails, err := findTrails(path)
	if err != nil {
		return report, err
	}
	kept, err := parseKept(o.Since)
	if err != nil {
		return report, err
	}
	for _, t := range trails {
		w, err := t.witness(o.Public, kept.of(t.path))
		if err != nil {
			return report, err
		}
		one, err := t.verify(w)
		if err != nil {
			return report, err
		}
		report.Trails = append(report.Trails, one)
	}
	if len(trails) != 1 || trails[0].path != path {
		report.Trails = append(report.Trails, kept.rest(path)...)
	}
	return report, nil
}

// trailFiles are the files of one trail, in order.
type trailFiles struct {
	path     string
	segments []string
}

var (
	segmentName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{6}\.jsonl$`) })
	trailName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{8}T\d{6}Z-\d+-[0-9a-f]+$`) })
)

// findTrails looks in dir, and in the directories right under it.
func findTrails(dir string) ([]trailFiles, error) {
	own, below, err := list(dir)
	if err != nil {
		return nil, err
	}
	var trails []trailFiles
	if len(own) > 0 || trailName().MatchString(filepath.Base(dir)) {
		trails = append(trails, trailFiles{dir, own})
	}
	for _, sub := range below {
		segments, _, err := list(sub)
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(segments) > 0 || trailName().MatchString(filepath.Base(sub)) {
			trails = append(trails, trailFiles{sub, segments})
		}
	}
	return trails, nil
}

// list returns the segments and the directories in dir, in the order of their names.
func list(dir string) (segments, below []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		switch path := filepath.Join(dir, e.Name()); {
		case e.IsDir():
			below = append(below, path)
		case segmentName().MatchString(e.Name()):
			segments = append(segments, path)
		}
	}
	return segments, below, nil
}

// verify holds a trail to its chain and to what its witness says; nil: nothing.
func (t trailFiles) verify(w *witness) (TrailReport, error) {
	c := checker{report: TrailReport{Path: t.path, Status: OK}, prev: origin(), sha: sha256.New(), witness: w}
	if len(t.segments) == 0 {
		c.end = Fault{File: t.path}
		c.fail(Incomplete, Fault{Reason: NoSegment, Seq: 1, File: t.path})
		c.finish()
		return c.report, nil
	}
	if first := filepath.Base(t.segments[0]); len(t.segments) == 1 && t.path == t.segments[0] &&
		segmentName().MatchString(first) && first != firstSegment {
		c.anyStart = true // a later segment by itself
	}
	for i, path := range t.segments {
		if err := c.checkFile(path, i == len(t.segments)-1); err != nil {
			return c.report, err
		}
	}
	c.finish()
	return c.report, nil
}

// readBuffer is more than any line is long.
const readBuffer = 256 << 10

// checkFile reads one segment to its end. A torn line is a crash's work only
// in the last one.
func (c *checker) checkFile(path string, last bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	at := Fault{File: path, Line: 1}
	for in := bufio.NewReaderSize(f, readBuffer); ; at.Line++ {
		line, err := in.ReadSlice('\n')
		switch {
		case err == nil:
			c.check(line[:len(line)-1], at)
		case errors.Is(err, bufio.ErrBufferFull):
			at.Reason = TooLong
			c.fail(Tampered, at)
			return nil
		case !errors.Is(err, io.EOF):
			return err
		case len(line) > 0:
			c.end, at.Reason = at, Torn
			if last {
				c.fail(Incomplete, at)
			} else {
				c.fail(Tampered, at)
			}
			return nil
		default:
			c.end = at
			return nil
		}
		at.Offset += int64(len(line))
	}
}
