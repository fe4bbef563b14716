package audit

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files is a place where trails lie. The zero Files is this machine's file
// system. A place elsewhere (the copies of package ship) lets the same code
// verify and read what lies there, so that it cannot say anything else of a
// copy than of a file.
//
// A file of a trail that was archived is found in its archive, and read as if it
// lay in its trail.
type Files struct {
	// In holds the trails; nil: the machine's file system, with its paths. In
	// another place paths are those of [fs.FS], and its regular files implement
	// [io.ReaderAt].
	In fs.FS
	// Archives are directories to which archives were moved. They are looked into
	// before those that the statements of a trail name.
	Archives []string
}

// File is an open file.
type File interface {
	fs.File
	io.ReaderAt
}

// Open opens a file for reading. What is no regular file is an error, and is not
// waited for.
func (f Files) Open(path string) (File, error) {
	file, err := f.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.openStored(path)
	}
	return file, err
}

func (f Files) open(path string) (File, error) {
	if f.In == nil {
		return OpenRegular(path)
	}
	file, err := f.In.Open(filepath.ToSlash(path))
	if err != nil {
		return nil, err
	}
	if at, ok := file.(File); ok {
		return at, nil
	}
	_ = file.Close()
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
}

// Stat describes a file, or what a link leads to.
func (f Files) Stat(path string) (fs.FileInfo, error) {
	info, err := f.stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.statStored(path)
	}
	return info, err
}

func (f Files) stat(path string) (fs.FileInfo, error) {
	if f.In == nil {
		return os.Stat(path)
	}
	return fs.Stat(f.In, filepath.ToSlash(path))
}

// Lstat describes a file, or the link itself.
func (f Files) Lstat(path string) (fs.FileInfo, error) {
	info, err := f.lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.statStored(path)
	}
	return info, err
}

func (f Files) lstat(path string) (fs.FileInfo, error) {
	if f.In == nil {
		return os.Lstat(path)
	}
	return fs.Lstat(f.In, filepath.ToSlash(path))
}

// ReadDir lists a directory, sorted by name.
func (f Files) ReadDir(path string) ([]fs.DirEntry, error) {
	if f.In == nil {
		return os.ReadDir(path)
	}
	return fs.ReadDir(f.In, filepath.ToSlash(path))
}

// ReadFile reads a whole file, as a recording.
func (f Files) ReadFile(path string) ([]byte, error) {
	data, err := f.readFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	file, stored := f.openStored(path)
	if stored != nil {
		return nil, stored
	}
	defer func() { _ = file.Close() }() // it was only read
	return io.ReadAll(file)
}

// readText reads a file of keys, checkpoints or statements.
func (f Files) readText(path string) ([]byte, error) {
	file, err := f.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return readText(file)
}

func (f Files) readFile(path string) ([]byte, error) {
	file, err := f.open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return io.ReadAll(file)
}

// whole returns a path whose last two names say which trail it is, also for
// ".".
func (f Files) whole(path string) (string, error) {
	if f.In != nil {
		return path, nil
	}
	return filepath.Abs(path)
}
