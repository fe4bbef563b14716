package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tipstaff/internal/atomicfile"
	"tipstaff/internal/flock"
	"tipstaff/internal/plainfile"
	"tipstaff/internal/policy/facts"
)

// journal is a directory that says how tipstaff has changed the files of clients, in a
// file for each of them. An installation is undone by what it says and by nothing else:
// a copy beside a client's file can be anybody's. The zero journal knows nothing, and
// nothing can be changed without one.
type journal string

// step is one change of a file.
type step struct {
	Time    time.Time `json:"time"`
	Existed bool      `json:"existed"`          // there was a file before
	Before  string    `json:"before,omitempty"` // the SHA-256 of its text
	After   string    `json:"after"`            // and of what the change made of it
	Copy    string    `json:"copy,omitempty"`   // the path of what it was before
	Denies  []string  `json:"denies,omitempty"` // the tools that are denied in it by tipstaff, not by a person
}

// history is what the journal says of one file, the oldest step first.
type history struct {
	Version int    `json:"version"`
	Path    string `json:"path"`
	Steps   []step `json:"steps"`
}

const (
	historyVersion = 1
	// journalPatience is longer than any other tipstaff takes for a change.
	journalPatience = 10 * time.Second
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// of returns the place of a file's history. A file has one, by whatever way its directory
// is reached.
func (j journal) of(path string) (place, canonical string) {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return filepath.Join(string(j), hashOf(path)[:32]+".json"), path
}

// read returns the steps of a file; none if there were none. What cannot be read is an
// error: it may hold the only proof of what the file was.
func (j journal) read(path string) ([]step, error) {
	if j == "" {
		return nil, nil
	}
	place, path := j.of(path)
	// Whoever could write it would say what the file becomes, or that it goes.
	text, err := facts.ReadTrusted(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var h history
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&h)
	}
	switch {
	case err != nil:
	case h.Version != historyVersion:
		err = fmt.Errorf("it has version %d, and this tipstaff knows version %d", h.Version, historyVersion)
	case h.Path != path:
		err = fmt.Errorf("it is of another file, %s", h.Path)
	default:
		return h.Steps, nil
	}
	return nil, refuse("Mend it or move it away (TIPSTAFF_STATE_DIR must be a directory of your own); without it, uninstall takes out the entry alone.", "what tipstaff has noted of %s cannot be read in %s: %v", path, place, err)
}

// denies are the tools that tipstaff has denied in a file.
func (j journal) denies(path string) ([]string, error) {
	steps, err := j.read(path)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	return steps[len(steps)-1].Denies, nil
}

// lock keeps other tipstaffs from changing files of clients until release is called. It
// makes the directory, so that nothing is changed that could not be noted.
func (j journal) lock() (release func(), err error) {
	if j == "" {
		return nil, refuse("Set TIPSTAFF_STATE_DIR to an absolute path.", "no directory is known in which changes could be noted")
	}
	ctx, cancel := context.WithTimeout(context.Background(), journalPatience)
	defer cancel()
	var dir *os.File
	if err = os.MkdirAll(string(j), 0o700); err == nil {
		dir, err = flock.LockDir(ctx, string(j))
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported): // the check before a file is replaced has to do
		return func() {}, nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, refuse("Try again when it has ended.", "another tipstaff is changing files of clients")
	case err != nil:
		return nil, refuse("Make it writable for you, or set TIPSTAFF_STATE_DIR to a directory that is.", "changes cannot be noted in %s: %v", string(j), err)
	}
	return func() { _ = dir.Close() }, nil
}

// add notes a step. The caller has the lock.
func (j journal) add(path string, s step) error {
	before, err := j.read(path)
	if err != nil {
		return err
	}
	return j.write(path, append(before, s))
}

// takeBack removes the newest step, which was noted and could not be done. The caller has
// the lock.
func (j journal) takeBack(path string) error {
	steps, err := j.read(path)
	switch {
	case err != nil:
		return err
	case len(steps) < 2:
		return j.forget(path)
	}
	return j.write(path, steps[:len(steps)-1])
}

func (j journal) write(path string, steps []step) error {
	place, path := j.of(path)
	text, err := json.Marshal(history{historyVersion, path, steps})
	if err != nil {
		return err
	}
	return atomicfile.Replace(place, strings.NewReader(string(text)+"\n"), atomicfile.Options{Mode: 0o600})
}

// forget removes the history of a file from which tipstaff is taken out. The caller has
// the lock.
func (j journal) forget(path string) error {
	place, _ := j.of(path)
	if err := os.Remove(place); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// back returns the steps that lead to a text, the newest first: each began with what the
// one before it had made. Nobody else has changed the file in between.
func back(steps []step, text string) (chain []step) {
	want := hashOf(text)
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].After != want {
			continue
		}
		chain = append(chain, steps[i])
		if !steps[i].Existed {
			break
		}
		want = steps[i].Before
	}
	return chain
}

// text returns what the file was before the step, if its copy still says that.
func (s step) text() (text string, ok bool) {
	if !s.Existed || s.Copy == "" {
		return "", false
	}
	data, err := plainfile.Read(s.Copy, maxFile)
	if err != nil || hashOf(string(data)) != s.Before {
		return "", false
	}
	return string(data), true
}
