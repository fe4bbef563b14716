package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// group returns the limits for a command as a whole, as far as the engine can
// enforce them.
func (l ResourceLimits) group(b proc.Bounds) (g proc.GroupLimits) {
	if b.Memory {
		g.MemoryBytes = max(0, l.MemoryBytes)
	}
	if b.Processes {
		g.Processes = max(0, l.Processes)
	}
	return g
}

// kernel returns the limits that the kernel enforces for each process. Limits of the
// whole command are not among them: RLIMIT_DATA also counts memory that is only
// reserved. In namespaces, the PID namespace bounds the number of processes.
// Outside, the kernel counts all processes of a user, so the present ones are added
// to the limit of a command; root is exempt.
func (l ResourceLimits) kernel(t Tier, g proc.GroupLimits) []proc.Limit {
	var list []proc.Limit
	add := func(resource int, value int64) {
		if value > 0 {
			list = append(list, proc.Limit{Resource: resource, Value: uint64(value)})
		}
	}
	if g.MemoryBytes == 0 {
		add(unix.RLIMIT_DATA, l.MemoryBytes)
	}
	add(unix.RLIMIT_CPU, int64((l.CPU+time.Second-1)/time.Second))
	add(unix.RLIMIT_FSIZE, l.FileBytes)
	add(unix.RLIMIT_NOFILE, int64(l.OpenFiles))
	if t == Landlock && l.Processes > 0 && g.Processes == 0 {
		add(unix.RLIMIT_NPROC, int64(l.Processes+tasksOfUser()))
	}
	return list
}

// status says what bounds memory and processes.
func (l ResourceLimits) status(t Tier, b proc.Bounds) *LimitsStatus {
	const none = "no limit"
	g := l.group(b)
	st := &LimitsStatus{Memory: none, Processes: none, Reason: b.Reason}
	switch {
	case g.MemoryBytes > 0:
		st.Memory = fmt.Sprintf("%d bytes for each command as a whole (control group)", g.MemoryBytes)
	case l.MemoryBytes > 0:
		st.Memory = fmt.Sprintf("%d bytes of data for each process (RLIMIT_DATA)", l.MemoryBytes)
	}
	switch {
	case l.Processes <= 0:
	case g.Processes > 0:
		st.Processes = fmt.Sprintf("%d for each command (control group)", g.Processes)
	case t == Namespaces && b.InNamespaces:
		st.Processes = fmt.Sprintf("%d for each command (pid_max of its namespace)", l.Processes)
	case t == Namespaces:
		st.Processes = "no limit: kernel.pid_max belongs to the machine before Linux 6.14"
	default:
		st.Processes = fmt.Sprintf("%d for all commands together, and not for root (RLIMIT_NPROC)", l.Processes)
	}
	return st
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
