package clients

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tipstaff/internal/atomicfile"
	"tipstaff/internal/plainfile"
)

// maxFile bounds a client's file. Claude Code keeps much else in its own.
const maxFile = 64 << 20

// Refused says why a file is left as it is, and what a person can do.
type Refused struct {
	Found string // what was found
	Do    string // what to do
}

func (e *Refused) Error() string { return e.Found + "; nothing was changed. " + e.Do }

func refuse(do, found string, args ...any) error {
	return &Refused{Found: fmt.Sprintf(found, args...), Do: do}
}

// file is a client's file as it was found.
type file struct {
	path string
	text string
	info fs.FileInfo // nil: there is none
}

// read reads a file and says whether it may be changed: only a plain file of
// this user, under its own name. follow says that a link may lead to it.
func read(path string, follow bool) (file, error) {
	f := file{path: path}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, refuse("Make it readable for you, or paste the entry there yourself.", "%s cannot be looked at: %v", path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			return f, refuse("Mend or remove the link, then try again.", "%s is a link that leads nowhere: %v", path, err)
		}
		if !follow {
			return f, refuse("Say --follow to change that file, or paste the entry there yourself.", "%s is a link to %s", path, target)
		}
		f.path = target
		if info, err = os.Lstat(target); err != nil {
			return f, refuse("Mend or remove the link, then try again.", "%s is a link that leads nowhere: %v", path, err)
		}
	}
	f.info = info
	if err := f.mayChange(); err != nil {
		return f, err
	}
	data, err := plainfile.Read(f.path, maxFile)
	if err != nil {
		return f, refuse("Make it readable for you, or paste the entry there yourself.", "%s cannot be read: %v", f.path, err)
	}
	f.text = string(data)
	return f, nil
}

// mayChange says why the file must not be replaced.
func (f file) mayChange() error {
	switch {
	case f.info.IsDir():
		return refuse("Move the directory out of the way, then try again.", "%s is a directory, where a file is expected", f.path)
	case !f.info.Mode().IsRegular():
		return refuse("Put a plain file in its place, then try again.", "%s is no plain file (%s)", f.path, f.info.Mode().Type())
	case f.info.Size() > maxFile:
		return refuse("Paste the entry there yourself.", "%s is larger than %d MiB", f.path, maxFile>>20)
	case f.info.Mode().Perm()&0o200 == 0:
		return refuse("Run chmod u+w on it if it may be changed, or paste the entry there yourself.", "%s is read-only", f.path)
	}
	if owner, links := f.foreign(); owner != "" {
		return refuse("Install as the user who owns it, or paste the entry there yourself.", "%s belongs to %s", f.path, owner)
	} else if links > 1 {
		return refuse("Paste the entry there yourself: a file that is replaced would be one name less.", "%s is one file under %d names", f.path, links)
	}
	return nil
}

// same reports whether the file still is what was read.
func (f file) same() bool {
	info, err := os.Lstat(f.path)
	if f.info == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if err != nil || !os.SameFile(info, f.info) {
		return false
	}
	now, err := plainfile.Read(f.path, maxFile)
	return err == nil && string(now) == f.text
}

// check refuses to go on with a file that somebody has changed since it was read.
func (f file) check() error {
	if f.same() {
		return nil
	}
	return refuse("Close the client and try again.", "%s was changed by another program meanwhile", f.path)
}

// write replaces the file by a text, all at once, with the old one's mode, owner
// and group. A file that somebody has changed since it was read is left alone.
func (f file) write(text string) error {
	if err := f.makeDir(); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if f.info != nil {
		mode = f.info.Mode().Perm()
	}
	o := atomicfile.Options{Mode: mode, Check: f.check}
	if f.info != nil {
		o.Own = f.giveOwner
	}
	return f.explain(atomicfile.Replace(f.path, strings.NewReader(text), o))
}

// makeDir makes the file's directory, unless it is there.
func (f file) makeDir() error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return refuse("Make the directory yourself, then try again.", "the directory for %s cannot be made: %v", f.path, err)
	}
	return nil
}

// explain says what a person can do about a file that could not be replaced.
func (f file) explain(err error) error {
	var failed *atomicfile.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Step {
	case atomicfile.Make:
		return refuse("Make the directory writable for you, or paste the entry there yourself.", "beside %s no file can be made: %v", f.path, failed.Err)
	case atomicfile.Write, atomicfile.Sync:
		return refuse("See that there is room, then try again.", "%s cannot be written: %v", f.path, failed.Err)
	case atomicfile.Check:
		return failed.Err
	case atomicfile.Name:
		return refuse("Paste the entry there yourself.", "%s cannot be replaced: %v", f.path, failed.Err)
	default: // it is there
		return err
	}
}

// backupWord stands in the names of copies: what a file was before a change lies beside
// it. The journal says what each copy is of.
const backupWord = ".before-tipstaff-"

// backUp keeps the file's present text beside it, under a name that no other copy has.
func (f file) backUp(now time.Time) (path string, err error) {
	var b *os.File
	for range 10 {
		path = f.path + backupWord + now.UTC().Format("2006-01-02T150405Z") + "-" + rand.Text()[:8]
		if b, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", refuse("Make the directory writable for you, or paste the entry there yourself.", "no copy of %s can be kept: %v", f.path, err)
	}
	_, err = b.WriteString(f.text)
	if err = errors.Join(err, f.giveOwner(b), b.Chmod(f.info.Mode().Perm()), b.Sync(), b.Close()); err != nil {
		_ = os.Remove(path)
		return "", refuse("See that there is room, then try again.", "no copy of %s can be kept: %v", f.path, err)
	}
	return path, nil
}
