//go:build !linux

package worker

import "errors"

// Main returns an error: scripts need a sandbox, which only Linux has.
func Main(uintptr) error { return errors.ErrUnsupported }
