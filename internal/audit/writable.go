package audit

import (
	"errors"
	"io/fs"
	"os"
)

// Writable writes a file in dir and removes it again, to find out before a server
// starts whether it can write a trail. The error says why not. A directory that does
// not exist is no error, because the first server makes it.
func Writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
