package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

// traceTries trace processes that the attempt starts itself.
func traceTries() []try {
	return []try{
		{"trace-own", 0, func([]string) (string, error) { return traced(nil, "see", "1") }},
		{"trace-connect", 1, traceConnect},
		{"peer-pidfd", 0, peerPidfd},
		{"held", 0, held},
		{"hold", 1, holdOn},
	}
}

// traceConnect makes a process of its own connect, and changes the address in its memory
// when the call begins.
func traceConnect(a []string) (string, error) {
	dir, name := filepath.Split(a[0])
	change := func(thread int, info *syscallInfo) {
		if info.number == syscall.SYS_CONNECT {
			_, _ = syscall.PtracePokeData(thread, uintptr(info.arg[1])+2, []byte(a[0]))
		}
	}
	return traced(change, "unix", dir+strings.Repeat("x", len(name)))
}

// syscallInfo is struct ptrace_syscall_info at the entry of a call.
type syscallInfo struct {
	op     uint8
	_      [23]byte
	number uint64
	arg    [6]uint64
	_      [2]uint64
}

// traced runs an attempt as a tracee to its end, shows each of its calls, and returns what
// it says.
func traced(atCall func(thread int, info *syscallInfo), words ...string) (string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	if err != nil {
		return "pipe", err
	}
	child, err := os.StartProcess("/proc/self/exe", append([]string{"testcmd", "attempt"}, words...), &os.ProcAttr{
		Files: []*os.File{nil, w, os.Stderr}, Env: os.Environ(), Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	_ = w.Close()
	if err != nil {
		return "start", err
	}
	if err := follow(child.Pid, atCall); err != nil {
		return "trace", err
	}
	said, err := io.ReadAll(r)
	if err != nil {
		return "read", err
	}
	return string(said), errnoIn(string(said))
}

// errnoIn returns the error that an attempt has printed.
func errnoIn(said string) error {
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.ENOENT, syscall.ECONNREFUSED} {
		if strings.Contains(said, `"`+errnoName(errno)+`"`) {
			return errno
		}
	}
	return nil
}

// follow lets a tracee and its threads run to their end.
func follow(pid int, atCall func(thread int, info *syscallInfo)) error {
	const (
		anyKind    = 0x40000000 // __WALL
		getInfo    = 0x420e     // PTRACE_GET_SYSCALL_INFO
		atEntry    = 1
		callMarked = syscall.SIGTRAP | 0x80
	)
	for first := true; ; first = false {
		var ws syscall.WaitStatus
		thread, err := syscall.Wait4(-1, &ws, anyKind, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return err
		case !ws.Stopped() && thread == pid:
			return nil
		case !ws.Stopped():
			continue
		case first:
			if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE); err != nil {
				return err
			}
		}
		signal := ws.StopSignal()
		if signal == callMarked && atCall != nil {
			var info syscallInfo
			if _, err := call(syscall.SYS_PTRACE, getInfo, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info))); err == nil && info.op == atEntry {
				atCall(thread, &info)
			}
		}
		if signal == callMarked || signal == syscall.SIGTRAP || signal == syscall.SIGSTOP {
			signal = 0
		}
		if err := syscall.PtraceSyscall(thread, int(signal)); err != nil && err != syscall.ESRCH {
			return err
		}
	}
}

// peerPidfd takes a descriptor from who made the connection that it accepts.
func peerPidfd([]string) (string, error) {
	const soPeerPidfd = 77
	path := filepath.Join(os.TempDir(), "peer-"+itoa(os.Getpid()))
	listener, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "socket", err
	}
	if err := syscall.Bind(listener, &syscall.SockaddrUnix{Name: path}); err != nil {
		return "bind", err
	}
	if err := syscall.Listen(listener, 1); err != nil {
		return "listen", err
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "socket", err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		return "connect", err
	}
	accepted, _, err := syscall.Accept(listener)
	if err != nil {
		return "accept", err
	}
	peer, err := syscall.GetsockoptInt(accepted, syscall.SOL_SOCKET, soPeerPidfd)
	if err != nil {
		return "peer", err
	}
	_, err = call(numberPidfdGetfd, uintptr(peer), 0, 0)
	return "get", err
}

// held ends as soon as a process that it has started traces it. That one does not wait for
// its end, so that the kernel tells nobody else of it.
func held([]string) (string, error) {
	if _, err := os.StartProcess("/proc/self/exe", []string{"testcmd", "attempt", "hold", itoa(os.Getpid())}, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, os.Stdout, os.Stderr}}); err != nil {
		return "start", err
	}
	for {
		if status, err := os.ReadFile("/proc/self/status"); err != nil || !strings.Contains(string(status), "TracerPid:\t0\n") {
			return "", err
		}
	}
}

// holdOn traces a process and waits for ever.
func holdOn(a []string) (string, error) {
	runtime.LockOSThread()
	const seize = 0x4206 // PTRACE_SEIZE
	err := ofProcess(a[0], func(pid int) error {
		_, err := call(syscall.SYS_PTRACE, seize, uintptr(pid), 0, 0)
		return err
	})
	if err == nil { // the tracee cannot say so: a signal of its runtime stops it
		_, err = os.Stdout.WriteString("seized\n")
	}
	for err == nil || errors.Is(err, syscall.EINTR) {
		err = syscall.Pause()
	}
	return "", err
}
