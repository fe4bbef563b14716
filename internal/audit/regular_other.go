//go:build !unix

package audit

import "os"

// openWithoutWaiting opens a file. Here, no pipe has a name among
// files.
func openWithoutWaiting(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, 0) }
