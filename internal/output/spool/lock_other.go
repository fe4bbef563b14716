//go:build !unix

package spool

import (
	"errors"
	"os"
)

// lockFile fails: there are no locks here that end with their process, so a
// living server could not be told from a dead one.
func lockFile(string, bool) (*os.File, error) { return nil, errors.ErrUnsupported }
