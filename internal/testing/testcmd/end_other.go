//go:build unix && !linux

package main

import (
	"errors"
	"syscall"
)

// restoreDefault keeps the Go runtime's handler: SIGHUP, SIGINT, SIGKILL and
// SIGTERM end the program as they should, other signals by an exit code.
func restoreDefault(syscall.Signal) error { return nil }

func becomeDeaf([]string) error { return errors.New("this program exists on Linux only") }
