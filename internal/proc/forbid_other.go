//go:build !linux

package proc

import "errors"

// ForbidPrograms returns an error: only Linux can.
func ForbidPrograms() error { return errors.ErrUnsupported }

// ForbidWriting returns an error: only Linux can.
func ForbidWriting() error { return errors.ErrUnsupported }
