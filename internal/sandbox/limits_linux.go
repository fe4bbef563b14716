package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// kernel gives the limits that the kernel keeps for each process. In namespaces
// the number of processes is bounded by theirs. Outside, the kernel counts all
// of a user's, so what there is now is added to what a command may have; root
// is not held to it.
func (l Limits) kernel(t Tier) []proc.Limit {
	var list []proc.Limit
	add := func(resource int, value int64) {
		if value > 0 {
			list = append(list, proc.Limit{Resource: resource, Value: uint64(value)})
		}
	}
	add(unix.RLIMIT_DATA, l.MemoryBytes)
	add(unix.RLIMIT_CPU, int64((l.CPU+time.Second-1)/time.Second))
	add(unix.RLIMIT_FSIZE, l.FileBytes)
	add(unix.RLIMIT_NOFILE, int64(l.OpenFiles))
	if t == Landlock && l.Processes > 0 {
		add(unix.RLIMIT_NPROC, int64(l.Processes+tasksOfUser()))
	}
	return list
}

// tasksOfUser counts the threads of the server's user.
func tasksOfUser() (n int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Getuid() {
			tasks, _ := os.ReadDir(filepath.Join(dir, "task"))
			n += len(tasks)
		}
	}
	return n
}
