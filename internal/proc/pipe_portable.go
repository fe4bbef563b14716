//go:build !linux || !(amd64 || arm64)

package proc

import "os"

// Pipe makes a pipe between the server and a program. read says that ours is
// the end to read from.
func Pipe(read bool) (ours, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if read {
		return r, w, err
	}
	return w, r, err
}
