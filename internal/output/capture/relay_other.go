//go:build !linux

package capture

import "io"

// relayed returns r: this system has no faster way to read it.
func relayed(r io.Reader, _ int) (same io.Reader, release func()) { return r, func() {} }
