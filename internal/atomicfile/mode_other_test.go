//go:build !unix

package atomicfile

import "io/fs"

// sameMode compares what the system knows of modes: whether a file may be written.
func sameMode(got, want fs.FileMode) bool { return got&0o200 == want&0o200 }
