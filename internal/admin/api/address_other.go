//go:build !linux

package api

import "path/filepath"

// addressOf returns the address of a socket. It fails if the path is longer
// than the system allows.
func addressOf(dir, name string) (address string, release func(), err error) {
	return filepath.Join(dir, name), func() {}, nil
}
