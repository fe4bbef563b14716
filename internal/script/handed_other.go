//go:build !linux

package script

import (
	"errors"
	"io/fs"
	"os"
)

// writable returns true: no files are handed over on this system.
func writable(*os.File) bool { return true }

// dup fails: no script runs on this system.
func dup(uintptr) (*os.File, error) { return nil, errors.ErrUnsupported }

// No script runs on this system, so none of these is called.

func statOf(int) (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

func kindOf(*os.File) inputKind { return ofOther }

func restOf(*os.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func readWhole(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func sealed([]byte) (*os.File, error) { return nil, errors.ErrUnsupported }
