package audit

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// errIrregular: where a file of a trail should be there is a pipe, a socket, a
// device or a directory. A pipe would let a reader wait without end.
var errIrregular = errors.New("it is no regular file")

// OpenRegular opens a file of a trail for reading. If it is not a regular file, the
// error says so at once. It does not wait for the other end of a pipe, which would let
// whoever may write the directory stop a verifier.
func OpenRegular(path string) (*os.File, error) {
	f, err := openWithoutWaiting(path, os.O_RDONLY)
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

// ReadRegular reads a file of keys, checkpoints or retention notes. It opens the file
// as [OpenRegular] does, and reads no more than such a file can hold.
func ReadRegular(path string) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readText(f)
}

// maxGap is more than the longest statement: what keys, checkpoints and statements
// leave without an empty line is less.
const maxGap = 4 << 20

// readText reads a file of keys, checkpoints or retention notes. It stops after maxGap
// bytes without an empty line, because no such file has that: a sparse file of
// terabytes needs no space on the disk, and would fill the memory.
func readText(in io.Reader) ([]byte, error) {
	var data []byte
	gap := 0 // where the last empty line is
	for {
		step := min(max(len(data), 4<<10), 64<<10)
		data = slices.Grow(data, step)
		n, err := in.Read(data[len(data) : len(data)+step])
		from := max(len(data)-1, 0)
		data = data[:len(data)+n]
		if i := bytes.LastIndex(data[from:], []byte("\n\n")); i >= 0 {
			gap = from + i
		}
		switch {
		case errors.Is(err, io.EOF), len(data)-gap > maxGap:
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}
