//go:build !unix

package freeze

import (
	"errors"
	"os"
)

func open(path string) (*os.File, error) { return os.Open(path) }

func makeDirectory(dir string) error { return os.MkdirAll(dir, 0o700) }

func ownAs(*os.File, string) error { return nil }

// lockDirectory fails: there are no locks here that end with their process, so nothing
// can be frozen on this system.
func lockDirectory(string) (*os.File, error) { return nil, errors.ErrUnsupported }
