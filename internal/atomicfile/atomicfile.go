// Package atomicfile writes files as a whole: whoever reads one, and whatever finds it
// after a crash of the process or of the machine, finds the old content or the new one.
//
// The content goes to a temporary file in the same directory, which is synced, gets the
// file's name, and whose directory is synced in turn. So a file that was written is on
// the disk. After an error the temporary file is removed; only a crash can leave it, and
// its name begins with [Prefix].
package atomicfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Prefix begins the names of temporary files.
const Prefix = ".tipstaff-new-"

// Options say how a file is to be.
type Options struct {
	Mode fs.FileMode // of the file, whatever the umask is; it is 0600 until all is written
	// Own may give the temporary file an owner; nil gives none. It runs before the file
	// gets its mode.
	Own func(*os.File) error
	// Check may still prevent that the file gets its name; nil does not. It is the last
	// step before that.
	Check func() error
}

// Step is a step of [Replace] and [Create], in their order.
type Step string

// The steps. After an error at any but SyncDir nothing was changed.
const (
	Make    Step = "make a temporary file"
	Write   Step = "write it"
	Sync    Step = "sync it"
	Check   Step = "check it"
	Name    Step = "give it its name"
	SyncDir Step = "sync its directory" // the new file is in its place; if the machine fails, the old one may be back
)

// Error says at which step a file could not be written.
type Error struct {
	Path string // of the file
	Step Step
	Err  error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: cannot %s: %v", e.Path, e.Step, e.Err)
	if e.Step != SyncDir {
		text += "; nothing was changed"
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Replace writes a file in the place of one that may be there.
func Replace(path string, content io.Reader, o Options) error {
	return system{(*os.File).Sync, os.Rename, syncDir}.put(path, content, o)
}

// Create writes a file that is not there. The error is [fs.ErrExist] if something has
// the name when all is written.
func Create(path string, content io.Reader, o Options) error {
	return system{(*os.File).Sync, os.Link, syncDir}.put(path, content, o)
}

// system is what a file is put in its place with.
type system struct {
	sync    func(*os.File) error
	name    func(temp, path string) error
	syncDir func(path string) error
}

func (s system) put(path string, content io.Reader, o Options) (err error) {
	step := Make
	defer func() {
		if err != nil {
			err = &Error{path, step, err}
		}
	}()
	f, err := os.CreateTemp(filepath.Dir(path), Prefix+"*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close()           // again, but for an error
		_ = os.Remove(f.Name()) // of a file that was renamed, this finds none
	}()
	step = Write
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	if o.Own != nil {
		if err := o.Own(f); err != nil {
			return err
		}
	}
	if err := f.Chmod(o.Mode); err != nil {
		return err
	}
	step = Sync
	if err := s.sync(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil { // some file systems say only now that the disk is full
		return err
	}
	step = Check
	if o.Check != nil {
		if err := o.Check(); err != nil {
			return err
		}
	}
	step = Name
	if err := s.name(f.Name(), path); err != nil {
		return err
	}
	step = SyncDir
	return s.syncDir(filepath.Dir(path))
}
