//go:build !linux

package facts

// readOnly returns false: mounts are not checked on this system.
func readOnly(string) bool { return false }
