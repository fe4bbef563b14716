//go:build !linux

package capture

import "io"

// relayed gives r: there is no faster way to read it here.
func relayed(r io.Reader, _ int) (same io.Reader, release func()) { return r, func() {} }
