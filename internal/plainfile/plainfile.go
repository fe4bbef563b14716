package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrIrregular says that there is a pipe, a socket, a device or a directory where a file
// should be.
var ErrIrregular = errors.New("it is not a regular file")

// ErrTooLarge says that a file is larger than its reader takes.
var ErrTooLarge = errors.New("it is too large")

// errLeased: open(2) would wait until the other program gives the lease up.
var errLeased = errors.New("another program has a lease on it (fcntl(2)), which the system ends within a minute: try again then")

// patience bounds the reading of a file that is regular by its mode and delivers like a
// pipe. Linux has some below /proc and /sys, to which a link may lead.
const patience = 5 * time.Second

// Open opens a regular file for reading. It follows links, and does not wait for another
// program.
func Open(path string) (*os.File, error) { return open(path, os.Stat, 0) }

// OpenItself is [Open] for a path that may not be a link.
func OpenItself(path string) (*os.File, error) { return open(path, os.Lstat, noFollow) }

// open asks twice what the file is: of the name, because to open a device can set it to
// work, and of what was opened, because the name may be another file's by then.
func open(path string, stat func(string) (fs.FileInfo, error), flags int) (*os.File, error) {
	info, err := stat(path)
	if err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			failed.Op = "open" // as readers of the message expect of a file that is not there
		}
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink == 0 && !info.Mode().IsRegular() {
		return nil, irregular(path, info)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking|flags, 0)
	if wouldBlock(err) {
		err = &fs.PathError{Op: "open", Path: path, Err: errLeased}
	}
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = irregular(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// errDirectory is [ErrIrregular] for what people find there most.
type errDirectory struct{}

func (errDirectory) Error() string   { return ErrIrregular.Error() + ": it is a directory" }
func (errDirectory) Is(e error) bool { return e == ErrIrregular }
func irregular(path string, info fs.FileInfo) error {
	if info.IsDir() {
		return &fs.PathError{Op: "open", Path: path, Err: errDirectory{}}
	}
	return &fs.PathError{Op: "open", Path: path, Err: ErrIrregular}
}

// OpenDir opens a directory, for its entries or to sync it.
func OpenDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|nonBlocking|directory, 0)
}

// Read returns what is in a regular file. It is an error if that is more than most bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAll(f, most)
}

// ReadAll returns what is in a file that [Open] or [OpenItself] has opened, as [Read] does.
func ReadAll(f *os.File, most int64) ([]byte, error) {
	tooLarge := fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: tooLarge}
	}
	_ = f.SetReadDeadline(time.Now().Add(patience))    // of most files none can be set, and none is needed
	data, err := io.ReadAll(io.LimitReader(f, most+1)) // it may grow
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: tooLarge}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// FS returns the regular files below a directory. Links lead anywhere. [fs.ReadFile] reads
// no more than a mebibyte of one.
func FS(dir string) fs.FS { return files(dir) }

type files string

const maxOfTree = 1 << 20

func (dir files) at(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(string(dir), filepath.FromSlash(name)), nil
}

// Open opens a file as the function of this name does.
func (dir files) Open(name string) (fs.File, error) {
	path, err := dir.at("open", name)
	if err != nil {
		return nil, err
	}
	return Open(path)
}

// ReadFile returns what is in a file.
func (dir files) ReadFile(name string) ([]byte, error) {
	path, err := dir.at("open", name)
	if err != nil {
		return nil, err
	}
	return Read(path, maxOfTree)
}

// ReadDir lists a directory.
func (dir files) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := dir.at("open", name)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}

// Stat says what there is, and opens nothing.
func (dir files) Stat(name string) (fs.FileInfo, error) {
	path, err := dir.at("stat", name)
	if err != nil {
		return nil, err
	}
	return os.Stat(path)
}
