//go:build !unix

package capture

import "os"

// Rest does nothing where a pipe cannot be read without waiting.
func Rest(*Buffer, *os.File) {}
