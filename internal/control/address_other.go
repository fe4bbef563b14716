//go:build !linux

package control

import "path/filepath"

// addressOf gives the address of a socket. Where its path is longer than the
// system takes, there is none.
func addressOf(dir, name string) (address string, release func(), err error) {
	return filepath.Join(dir, name), func() {}, nil
}
