package control

import (
	"os"
	"path/filepath"
	"strconv"
)

// maxAddress is less than the 107 bytes that a socket's address has room for,
// unix(7).
const maxAddress = 100

// addressOf gives the address of a socket. One whose path is too long is reached
// through a descriptor of its directory, until release.
func addressOf(dir, name string) (address string, release func(), err error) {
	if path := filepath.Join(dir, name); len(path) <= maxAddress {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) + "/" + name, func() { _ = f.Close() }, nil
}
