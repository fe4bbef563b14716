package freeze

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tipstaff/internal/atomicfile"
	"tipstaff/internal/flock"
	"tipstaff/internal/strictjson"
)

// name is the file, in the directory of the control sockets.
const name = "frozen.json"

func pathIn(dir string) string { return filepath.Join(dir, name) }

const (
	version = 1
	// maxEntries and maxBytes bound the file.
	maxEntries = 1000
	maxBytes   = 8 << 20
)

// content is what the file holds.
type content struct {
	Version int     `json:"version"`
	Frozen  []Entry `json:"frozen"`
}

// ErrNotFrozen says that no freeze of exactly this target is in force.
var ErrNotFrozen = errors.New("this is not frozen")

// read reads the file. A file that is not there freezes nobody.
func read(path string) ([]Entry, error) {
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, unreadable(err)
	case !info.Mode().IsRegular():
		return nil, unreadable(fmt.Errorf("%s is no regular file", path))
	case info.Mode().Perm()&0o022 != 0:
		return nil, unreadable(fmt.Errorf("%s can be written by other users: its mode is %v", path, info.Mode().Perm()))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxBytes)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	var c content
	if err := strictjson.Unmarshal(data, &c); err != nil {
		return nil, unreadable(fmt.Errorf("%s: %w", path, err))
	}
	if c.Version != version {
		return nil, unreadable(fmt.Errorf("%s has version %d, and this tipstaff knows version %d", path, c.Version, version))
	}
	for _, e := range c.Frozen {
		if e.Target == (Target{}) {
			return nil, unreadable(fmt.Errorf("%s has an entry that names nobody", path))
		}
	}
	return c.Frozen, nil
}

func unreadable(err error) error { return fmt.Errorf("cannot tell who is frozen: %w", err) }

// Add freezes a target in the book of a directory. If it is frozen already, Add
// changes nothing, and returns the entry that is there.
func Add(dir string, e Entry) (in Entry, already bool, err error) {
	if err := e.Check(); err != nil {
		return Entry{}, false, err
	}
	if len(e.Why) > LongestWhy {
		return Entry{}, false, fmt.Errorf("a reason has at most %d bytes", LongestWhy)
	}
	in = e
	err = change(dir, func(all []Entry) ([]Entry, error) {
		if i := at(all, e.Target); i >= 0 {
			in, already = all[i], true
			return all, nil
		}
		if len(all) >= maxEntries {
			return nil, fmt.Errorf("%d freezes are in force, and no more than that can be: lift those that are done", len(all))
		}
		return append(slices.Clone(all), e), nil
	})
	return in, already, err
}

// Remove lifts the freeze of exactly this target. before is called with the entry
// before it is lifted; after an error of it nothing is changed. The error is
// [ErrNotFrozen] if there is no such freeze.
func Remove(dir string, t Target, before func(Entry) error) (out Entry, err error) {
	err = change(dir, func(all []Entry) ([]Entry, error) {
		i := at(all, t)
		if i < 0 {
			return nil, ErrNotFrozen
		}
		out = all[i]
		if err := before(out); err != nil {
			return nil, err
		}
		return slices.Delete(slices.Clone(all), i, i+1), nil
	})
	return out, err
}

func at(all []Entry, t Target) int {
	return slices.IndexFunc(all, func(e Entry) bool { return e.Target == t })
}

// change replaces the content of the file, while no other process does. It fails where
// the system has no locks that end with their process.
func change(dir string, f func([]Entry) ([]Entry, error)) error {
	if err := makeDirectory(dir); err != nil {
		return fmt.Errorf("cannot change who is frozen: %w", err)
	}
	lock, err := flock.LockDir(context.Background(), dir) // nobody has it for long
	if err != nil {
		return fmt.Errorf("cannot change who is frozen: %w", err)
	}
	defer func() { _ = lock.Close() }()
	before, err := read(pathIn(dir))
	if err != nil {
		return err
	}
	after, err := f(before)
	if err != nil || len(after) == len(before) {
		return err
	}
	if err := write(dir, after); err != nil {
		return fmt.Errorf("cannot change who is frozen: %w", err)
	}
	return nil
}

// write puts a new file in the place of the old one.
func write(dir string, all []Entry) error {
	data, err := json.MarshalIndent(content{version, all}, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(pathIn(dir), bytes.NewReader(append(data, '\n')), atomicfile.Options{
		Mode: 0o600,
		Own:  func(f *os.File) error { return ownAs(f, dir) },
	})
}
