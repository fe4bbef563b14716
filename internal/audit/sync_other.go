//go:build !linux

package audit

import "os"

// syncFile syncs f.
func syncFile(f *os.File) error { return f.Sync() }
