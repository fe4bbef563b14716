//go:build !unix

package atomicfile

// syncDir does nothing: the system syncs no directories.
func syncDir(string) error { return nil }
