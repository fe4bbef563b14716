//go:build linux && !(amd64 || arm64)

package proc

import (
	"strconv"
	"syscall"
)

// attributes puts the program into a session of its own (no terminal, and a
// process group that can be ended), and makes it die with the server. The death
// signal is sent when the thread that started the program ends; threads of the
// Go runtime live as long as the server, because no goroutine here locks one
// and returns.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// dirPath names the open directory in the child, even if its original name now
// leads elsewhere. The child enters the directory before exec closes the
// descriptor.
func dirPath(fd uintptr) (string, error) { return "/proc/self/fd/" + strconv.Itoa(int(fd)), nil }
