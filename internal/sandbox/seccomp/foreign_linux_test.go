//go:build !amd64

package seccomp

func foreignCall() {}
