//go:build !linux

package audit

import "os"

// syncFile writes f to the disk.
func syncFile(f *os.File) error { return f.Sync() }
