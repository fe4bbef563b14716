//go:build unix && !linux

package proc

import (
	"strconv"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func dirPath(fd uintptr) (string, error) { return "/dev/fd/" + strconv.Itoa(int(fd)), nil }
