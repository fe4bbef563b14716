//go:build unix

package proc

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName gives "SIGTERM"; real-time signals have only numbers.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(int(s))
}

func coreDumped(ws syscall.WaitStatus) bool { return ws.CoreDump() }

// maxResident gives bytes: darwin counts bytes, the others kibibytes (getrusage(2)).
func maxResident(state *os.ProcessState) int64 {
	ru, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(ru.Maxrss)
	}
	return int64(ru.Maxrss) << 10
}
