//go:build unix && !(linux && (amd64 || arm64))

package proc

import (
	"os"
	"runtime"
	"syscall"
)

func coreDumped(ws syscall.WaitStatus) bool { return ws.CoreDump() }

// maxResident returns bytes: darwin counts bytes, other systems KiB
// (getrusage(2)).
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
