package api

import (
	"path/filepath"
	"strconv"

	"tipstaff/internal/plainfile"
)

// maxAddress is less than the 107 bytes that fit into a socket address,
// unix(7).
const maxAddress = 100

// addressOf returns the address of a socket. If its path is too long, the
// address leads through a descriptor of its directory, until release is called.
func addressOf(dir, name string) (address string, release func(), err error) {
	if path := filepath.Join(dir, name); len(path) <= maxAddress {
		return path, func() {}, nil
	}
	f, err := plainfile.OpenDir(dir)
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) + "/" + name, func() { _ = f.Close() }, nil
}
