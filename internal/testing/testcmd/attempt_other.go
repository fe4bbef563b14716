//go:build !linux

package main

import "errors"

// These programs try what only Linux can forbid.

var errNotLinux = errors.New("this program exists on Linux only")

func attempt([]string) error { return errNotLinux }
func without([]string) error { return errNotLinux }
