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
// enforce them. Without a limit of memory it is the machine's share: a command that
// takes all would have the kernel end the server or a person's programs.
func (l ResourceLimits) group(b proc.Bounds) (g proc.GroupLimits) {
	if b.Memory {
		g.MemoryBytes = max(0, l.MemoryBytes)
		if g.MemoryBytes == 0 {
			g.MemoryBytes = share(machineMemory())
		}
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
		if l.MemoryBytes <= 0 {
			st.Memory += ", three quarters of what there is, because TIPSTAFF_LIMIT_MEMORY_BYTES says nothing"
		}
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
		st.Processes = "no limit: kernel.pid_max belongs to the machine before Linux 6.14, and needs CONFIG_CHECKPOINT_RESTORE after it"
	default:
		st.Processes = fmt.Sprintf("%d for all commands together, and not for root (RLIMIT_NPROC)", l.Processes)
	}
	return st
}

// inexact returns why the limit of processes cannot be kept exactly for each command
// in a tier, and what to do about it; nil if it can, or if there is none.
func (l ResourceLimits) inexact(t Tier, b proc.Bounds) error {
	const group = "give the server a control group of its own (docs/sandbox.md, Limits of a whole command)"
	switch {
	case l.Processes <= 0, b.Processes && t != None, b.InNamespaces && t == Namespaces:
		return nil
	case t == Namespaces:
		return fmt.Errorf("a command cannot be kept to exactly %d processes by namespaces before Linux 6.14 or without CONFIG_CHECKPOINT_RESTORE: %s", l.Processes, group)
	case t == Landlock:
		return fmt.Errorf("a command cannot be kept to exactly %d processes outside of namespaces, where the kernel counts all processes of the user together: %s, or use the tier namespaces (Linux 6.14)", l.Processes, group)
	}
	return fmt.Errorf("a command cannot be kept to %d processes without a sandbox", l.Processes)
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
