//go:build linux && !(amd64 || arm64)

package proc

import (
	"strconv"
	"syscall"
)

// attributes puts the program into a session of its own (no terminal, a group
// to end) and lets it die with the server. The death signal follows the
// thread that started the program; threads of the Go runtime live as long as
// the server, because nothing here locks one and ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// dirPath leads to the open directory in the child, whatever has become of
// the name under which it was opened: the descriptors are closed by exec,
// after the directory has been entered.
func dirPath(fd uintptr) (string, error) { return "/proc/self/fd/" + strconv.Itoa(int(fd)), nil }
