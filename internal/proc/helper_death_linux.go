//go:build linux && (amd64 || arm64)

package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Other processes of the server's user, and root, can kill and stop the processes by
// which commands are started: zygotes, and first processes of PID namespaces. Then
// another one is made and the command is started again, but only if it is certain
// that it was not started. An attacker that keeps killing gets an error for the
// command after maxAttempts, and no command waits longer for that than a few times
// zygotePatience.

const (
	maxAttempts      = 4 // to start one command
	maxInstanceTries = 3 // to make one instance
)

// newInstanceRetrying makes an instance, and tries again if another process kills it
// meanwhile, a few times.
func (n *Enclosure) newInstanceRetrying() (i *instance, err error) {
	for range maxInstanceTries {
		if i, err = n.newInstance(); !Lost(err) {
			break
		}
	}
	return i, err
}

// lost reports whether a process of the instance that starts commands has ended.
func (i *instance) lost() bool {
	return i.zygote != nil && (i.zygote.dead || !i.zygote.lives()) || i.space != nil && !running(i.space.pid)
}

// stopped reports whether a state of stat is one of a process that was stopped, or
// waits for its debugger.
func stopped(state byte) bool { return state == 'T' || state == 't' }

func childStopped(pidfd int) bool {
	state, _, _ := stat(pidOf(pidfd))
	return stopped(state)
}

// pidOf returns the process behind a pidfd; 0 if fd is none, and -1 if the process
// has been reaped: proc_pid_fdinfo(5).
func pidOf(fd int) int {
	text, _ := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	_, after, _ := strings.Cut(string(text), "\nPid:\t")
	line, _, _ := strings.Cut(after, "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}

// salvage finds out what became of an order whose zygote has died. A command must not
// run twice, and must not run unwatched. If the zygote had made the process and that
// has come to exec, the command goes on: it is a child of the server like any other.
// Otherwise salvage kills the process, and returns errLost if it is certain that the
// program did not begin, else errUnclear.
func (z *zygote) salvage(a *attempt, s *childSteps) (pid, pidfd int, err error) {
	fd := int(atomic.LoadInt32(&a.pidfd))
	if fd < 0 {
		return 0, -1, errLost // the zygote did not come to make a process
	}
	if tagOf(z.pid) != z.tag {
		return 0, -1, errUnclear // tags do not tell here: see Engine.limit
	}
	pid = pidOf(fd)
	if pid <= 0 || tagOf(pid) != z.tag {
		return 0, -1, errLost // the call failed after the number was chosen, and the number may be another file's
	}
	if awaitExec(pid) {
		return pid, fd, nil
	}
	defer closeFDs([]int{fd})
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	_ = unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
	switch st, _, err := waitid(uintptr(fd)); {
	case err != nil || !st.Unstarted:
		return 0, -1, errUnclear
	case atomic.LoadUintptr(&a.call.errno) != 0:
		return 0, -1, a.failure(s)
	}
	return 0, -1, errLost
}

// awaitExec reports whether a child comes to exec. That takes microseconds unless
// something stops the child.
func awaitExec(pid int) bool {
	for limit := time.Now().Add(zygotePatience); ; time.Sleep(firstPause) {
		state, exits := exitSignal(pid)
		if exits == int(unix.SIGCHLD) {
			return true
		}
		if state == 0 || state == 'Z' || state == 'X' || stopped(state) || time.Now().After(limit) {
			return false
		}
	}
}

// exitSignal returns the state of a process and the signal that its parent gets when
// it ends, which exec sets to SIGCHLD: fields 3 and 38 of proc_pid_stat(5).
func exitSignal(pid int) (state byte, signal int) {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(f) < 36 {
		return 0, 0
	}
	signal, _ = strconv.Atoi(string(f[35]))
	return f[0][0], signal
}
