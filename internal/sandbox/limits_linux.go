package sandbox

import (
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// kernel gives the limits that the kernel keeps for each process. The number of
// processes is not among them: for that the kernel counts all of a user's.
func (l Limits) kernel() []proc.Limit {
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
	return list
}
