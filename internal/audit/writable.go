package audit

import (
	"errors"
	"io/fs"
	"os"
)

// Writable writes a file in dir and removes it again. Its error says why no
// trail could be written there. A directory that does not exist is not an
// error, because the first server makes it.
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
