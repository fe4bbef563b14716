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
	add := func(resource int, value uint64) {
		if value > 0 {
			list = append(list, proc.Limit{Resource: resource, Value: value})
		}
	}
	add(unix.RLIMIT_DATA, uint64(max(0, l.MemoryBytes)))
	add(unix.RLIMIT_CPU, uint64((l.CPU+time.Second-1)/time.Second))
	add(unix.RLIMIT_FSIZE, uint64(max(0, l.FileBytes)))
	add(unix.RLIMIT_NOFILE, uint64(max(0, l.OpenFiles)))
	if t == Landlock && l.Processes > 0 {
		add(unix.RLIMIT_NPROC, uint64(l.Processes+tasksOfUser()))
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
