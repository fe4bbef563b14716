package sandbox

import (
	"cmp"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"tipstaff/internal/plainfile"
)

// share is how much of something a command may use where nobody has said how much.
func share(all int64) int64 { return all / 4 * 3 }

// ProcessShare is the part of the machine's processes and threads that a command may have
// unless a setting says otherwise; 0 if the machine does not tell how many there can be.
func ProcessShare() int {
	most := lower(number("/proc/sys/kernel/threads-max"), number("/proc/sys/kernel/pid_max"))
	return int(min(share(lower(most, groupBound("/", "pids.max"))), math.MaxInt32))
}

// machineMemory returns the bytes of memory that the server and its commands have
// together: the machine's, or what the server's control groups leave of them.
var machineMemory = sync.OnceValue(func() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return lower(int64(info.Totalram)*int64(cmp.Or(info.Unit, 1)), groupBound("/", "memory.max"))
})

// groupBound returns the least bound of the server's control group and those above it, by
// the name of its file; 0 if there is none.
func groupBound(root, name string) (least int64) {
	text, err := plainfile.Read(filepath.Join(root, "proc/self/cgroup"), 1<<16)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		path, unified := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !unified {
			continue
		}
		for at := filepath.Join("/", path); ; at = filepath.Dir(at) {
			least = lower(least, number(filepath.Join(root, "sys/fs/cgroup", at, name)))
			if at == "/" {
				return least
			}
		}
	}
	return 0
}

// number reads a file with one number; 0 if it holds something else, such as "max".
func number(path string) int64 {
	text, err := plainfile.Read(path, 64)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
