//go:build !unix

package proc

// Seal does nothing: this system starts no programs.
func Seal() {}
