//go:build !linux

package protected

// Unmapped is about user namespaces, which only Linux has.
func Unmapped(int) bool { return false }

// OnlyUser is about user namespaces, which only Linux has.
func OnlyUser() bool { return false }
