package authn

import (
	"errors"
	"fmt"
	"io"
	"os"

	"tipstaff/internal/plainfile"
)

// maxFile bounds what is read from the operator's files.
const maxFile = 1 << 20

// readSecret reads a file that only the server's user (or root) may change and
// that no other user may read.
func readSecret(path string) ([]byte, error) { return readFile(path, private) }

// readOwn reads a file that only the server's user (or root) may change; others
// may read it.
func readOwn(path string) ([]byte, error) { return readFile(path, ours) }

// readFile checks the open file, not the path, which may lead to another file a
// moment later.
func readFile(path string, check func(os.FileInfo) error) ([]byte, error) {
	f, err := plainfile.Open(path)
	if errors.Is(err, plainfile.ErrIrregular) {
		err = fmt.Errorf("%s is no file", path)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := check(info); err != nil {
		return nil, fmt.Errorf("%s %w; run: chmod 600 %s", path, err, path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes; is it the right file?", path, maxFile)
	}
	return data, nil
}

var (
	errOthersWrite = errors.New("can be changed by other users")
	errOthersRead  = errors.New("can be read by other users")
	errOthersOwn   = errors.New("belongs to another user, who could change it")
)
