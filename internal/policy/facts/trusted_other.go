//go:build !linux

package facts

const openPlain = 0

// readOnly returns false: mounts are not checked on this system.
func readOnly(string) bool { return false }
