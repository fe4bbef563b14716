//go:build !unix

package capture

import "os"

// Rest does nothing on systems where a pipe cannot be read without blocking.
func Rest(*Buffer, *os.File) {}
