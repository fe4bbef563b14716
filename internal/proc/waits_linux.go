//go:build linux && (amd64 || arm64)

package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// WaitsFor reports whether the command waits for input: one of its threads sleeps in a
// read of in, or waits without a limit for in and for nothing else from outside, and no
// thread computes. false means that it does not, or that this cannot be found out. It
// may be called beside all other methods.
//
// /proc/PID/syscall, proc_pid_syscall(5), names the call that a thread sleeps in, with
// its arguments.
func (p *Process) WaitsFor(in Input) bool {
	if in == (Input{}) || p.ended.Load() {
		return false
	}
	pids, done := p.reached()
	defer done()
	waits := false
	for _, pid := range pids {
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/syscall")
		for _, task := range tasks {
			c, state := sleepsIn(task)
			switch {
			case state == computes:
				return false
			case state == sleeps && !waits:
				c.pid = pid
				waits = c.waitsFor(in)
			}
		}
	}
	return waits
}

// threadState is what a thread does.
type threadState int

const (
	unknown  threadState = iota // it has ended, or may not be looked at
	computes                    // it runs, or is about to
	sleeps                      // in a system call
)

// sleep is a system call that a thread of a process sleeps in.
type sleep struct {
	pid, number int
	arg         [6]uint64
}

// sleepsIn reads what a thread does.
func sleepsIn(file string) (c sleep, state threadState) {
	data, err := os.ReadFile(file)
	if err != nil {
		return c, unknown
	}
	f := strings.Fields(string(data))
	if len(f) > 0 && f[0] == "running" {
		return c, computes
	}
	if len(f) < 1+len(c.arg) {
		return c, unknown
	}
	if c.number, err = strconv.Atoi(f[0]); err != nil {
		return c, unknown
	}
	for i := range c.arg {
		if c.arg[i], err = strconv.ParseUint(strings.TrimPrefix(f[1+i], "0x"), 16, 64); err != nil {
			return c, unknown
		}
	}
	return c, sleeps
}

// waitsFor reports whether a thread that sleeps waits for the input.
func (c sleep) waitsFor(in Input) bool {
	switch c.number {
	case unix.SYS_READ, unix.SYS_READV:
		return in.isAt(c.pid, int(int32(c.arg[0])))
	}
	fds, endless := c.polled()
	if !endless {
		return false
	}
	waits := false
	for _, fd := range fds {
		switch {
		case in.isAt(c.pid, fd):
			waits = true
		case !innate(c.pid, fd):
			return false
		}
	}
	return waits
}

// isAt reports whether the input is a descriptor of a process: itself, or
// /dev/tty of a process whose terminal it is.
func (in Input) isAt(pid, fd int) bool {
	var st unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(pid)+"/fd/"+strconv.Itoa(fd), &st) != nil {
		return false
	}
	if inputOf(&st) == in {
		return true
	}
	const anyTerminal = 5 << 8 // the device number of /dev/tty
	return in.terminal != 0 && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == anyTerminal && terminalOf(pid) == in.terminal
}

// terminalOf returns the device number of a process's controlling terminal; 0 if
// it has none: field 7 of proc_pid_stat(5).
func terminalOf(pid int) uint64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, found := strings.Cut(string(data[max(0, strings.LastIndexByte(string(data), ')')):]), ")")
	f := strings.Fields(rest)
	if err != nil || !found || len(f) < 5 {
		return 0
	}
	n, err := strconv.ParseUint(f[4], 10, 32)
	if err != nil || n == 0 {
		return 0
	}
	return unix.Mkdev(uint32(n>>8&0xfff), uint32(n&0xff|n>>12&0xfff00))
}

// innate reports whether only the process itself can have something come by a
// descriptor: what event loops wake themselves with.
func innate(pid, fd int) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	link, err := os.Readlink(dir + "/" + strconv.Itoa(fd))
	switch {
	case err != nil:
		return false
	case link == "anon_inode:[eventfd]", link == "anon_inode:[signalfd]":
		return true
	case !strings.HasPrefix(link, "pipe:"):
		return false
	}
	entries, _ := os.ReadDir(dir)
	ends := 0
	for _, e := range entries {
		if other, err := os.Readlink(dir + "/" + e.Name()); err == nil && other == link {
			ends++
		}
	}
	return ends > 1
}
