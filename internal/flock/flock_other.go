//go:build !unix

package flock

import (
	"errors"
	"os"
)

func try(*os.File) error { return errors.ErrUnsupported }

func openDir(string) (*os.File, error) { return nil, errors.ErrUnsupported }
