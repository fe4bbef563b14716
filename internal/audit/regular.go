package audit

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// errIrregular: where a file of a trail should be there is a pipe, a socket, a
// device or a directory. A pipe would let a reader wait without end.
var errIrregular = errors.New("it is no regular file")

// OpenRegular opens a file of a trail for reading. What is no regular file is an
// error at once: a pipe is not waited for.
func OpenRegular(path string) (*os.File, error) {
	f, err := openWithoutWaiting(path)
	if err != nil {
		return nil, irregular(path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// irregular returns errIrregular in the place of what the system says of a file
// that cannot be opened because it is a socket or a device without a driver.
func irregular(path string, err error) error {
	if info, fault := os.Stat(path); fault == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	return err
}

// ReadRegular reads a whole file as [OpenRegular] opens it.
func ReadRegular(path string) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
