//go:build !linux

package proc

// GrowDescriptors does nothing on this system.
func GrowDescriptors() {}
