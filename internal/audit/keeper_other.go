//go:build !unix

package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// lockKeeper makes a file that no other process can make. There are no locks here that
// end with their process: what one has left that died must be removed by a person.
func lockKeeper(path string) (io.Closer, error) {
	own := path + ".lock"
	f, err := os.OpenFile(own, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w; if none does, remove %s", ErrBusy, own)
	}
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, nil, 0o600); err == nil {
		now := time.Now()
		_ = os.Chtimes(path, now, now)
	}
	return keeperFile{f}, nil
}

// keeperFile is the lock: a file that exists as long as the Keeper has it.
type keeperFile struct{ *os.File }

// Close removes the file.
func (k keeperFile) Close() error { return errors.Join(k.File.Close(), os.Remove(k.Name())) }

// claim does nothing: see lockKeeper.
func claim(file) {}

// claimed reports that a process may write every trail that was not closed.
func claimed(string) bool { return true }
