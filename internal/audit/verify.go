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

// Verify checks the chain of a trail (its directory), of one segment (a file),
// or of every trail in the directory that holds them. A trail that a crash
// ended is sound, also without a server.stop; if the crash tore its last line
// it is [Incomplete]. An error means that something could not be read.
//
// The chain alone cannot show that lines were cut off at the end of a trail,
// or that its end was rewritten; see the package comment.
//
// Verify uses the same memory for every length.
func Verify(path string) (Report, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Report{}, fmt.Errorf("cannot verify: %w", err)
	}
	trails := []trailFiles{{path: path, segments: []string{path}}}
	if info.IsDir() {
		if trails, err = findTrails(path); err != nil {
			return Report{}, fmt.Errorf("cannot verify: %w", err)
		}
	}
	var report Report
	for _, t := range trails {
		one, err := t.verify()
		if err != nil {
			return report, fmt.Errorf("cannot verify: %w", err)
		}
		report.Trails = append(report.Trails, one)
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

func (t trailFiles) verify() (TrailReport, error) {
	c := checker{report: TrailReport{Path: t.path, Status: OK}, prev: origin(), sha: sha256.New()}
	if len(t.segments) == 0 {
		c.fail(Incomplete, Fault{Reason: NoSegment, Seq: 1, File: t.path})
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
			at.Reason = Torn
			if last {
				c.fail(Incomplete, at)
			} else {
				c.fail(Tampered, at)
			}
			return nil
		default:
			return nil
		}
		at.Offset += int64(len(line))
	}
}
