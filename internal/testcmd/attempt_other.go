//go:build !linux

package main

import "errors"

// What these programs try, only Linux can forbid.

var errNotLinux = errors.New("this program exists on Linux only")

func attempt([]string) error { return errNotLinux }
func without([]string) error { return errNotLinux }
