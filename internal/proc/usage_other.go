//go:build !unix

package proc

import (
	"os"
	"syscall"
)

func signalName(s syscall.Signal) string { return s.String() }

func coreDumped(syscall.WaitStatus) bool { return false }

func maxResident(*os.ProcessState) int64 { return 0 }
