//go:build linux && (amd64 || arm64)

package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// WaitsFor reports whether a process of the command sleeps in a read of input:
// a pipe or terminal of which the caller holds an end open. A program that
// waits by poll(2) or the like is not recognised, because it may wait for other
// things as well. false means that it cannot be told, or is not so.
func (p *Process) WaitsFor(input *os.File) bool {
	if p.released.Load() || p.ended.Load() {
		return false
	}
	info, err := input.Stat()
	if err != nil {
		return false
	}
	for _, pid := range append(p.instance.members(), p.pid) {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			if fd, sleeps := readsFrom(task); sleeps && sameFile(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), info) {
				return true
			}
		}
	}
	return false
}

// readsFrom returns the descriptor that a thread sleeps in a read of:
// /proc/PID/syscall, proc_pid_syscall(5), which names the number of the call
// and its arguments, or says "running".
func readsFrom(task string) (fd int, sleeps bool) {
	data, err := os.ReadFile(task + "/syscall")
	if err != nil {
		return 0, false
	}
	f := strings.Fields(string(data))
	if len(f) < 2 {
		return 0, false
	}
	call, err := strconv.Atoi(f[0])
	if err != nil || call != unix.SYS_READ && call != unix.SYS_READV {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 31)
	return int(n), err == nil
}

// sameFile reports whether a link in /proc leads to a file, by device and
// inode: both ends of a pipe have the same.
func sameFile(link string, info os.FileInfo) bool {
	var st syscall.Stat_t
	want, ok := info.Sys().(*syscall.Stat_t)
	return ok && syscall.Stat(link, &st) == nil && st.Dev == want.Dev && st.Ino == want.Ino
}
