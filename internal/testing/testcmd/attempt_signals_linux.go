package main

import (
	"errors"
	"strconv"
	"syscall"
	"unsafe"
)

// signalTries send a signal to another process in every possible way. The
// arguments are process id and signal.
func signalTries() []try {
	raw := func(name string, number uintptr, args func(pid, signal uintptr) []uintptr) try {
		return try{name, 2, func(a []string) (string, error) {
			return "", withSignal(a, func(pid, signal int) error {
				_, err := call(number, args(uintptr(pid), uintptr(signal))...)
				return err
			})
		}}
	}
	var siginfo [16]uint64 // siginfo_t
	info := func(signal uintptr) uintptr {
		siginfo = [16]uint64{uint64(signal), 0xffffffff} // SI_QUEUE
		return uintptr(unsafe.Pointer(&siginfo))
	}
	return []try{
		raw("kill", syscall.SYS_KILL, func(pid, n uintptr) []uintptr { return []uintptr{pid, n} }),
		raw("kill-group", syscall.SYS_KILL, func(pid, n uintptr) []uintptr { return []uintptr{-pid, n} }),
		raw("tkill", syscall.SYS_TKILL, func(pid, n uintptr) []uintptr { return []uintptr{pid, n} }),
		raw("tgkill", syscall.SYS_TGKILL, func(pid, n uintptr) []uintptr { return []uintptr{pid, pid, n} }),
		raw("sigqueue", syscall.SYS_RT_SIGQUEUEINFO, func(pid, n uintptr) []uintptr { return []uintptr{pid, n, info(n)} }),
		raw("tgsigqueue", syscall.SYS_RT_TGSIGQUEUEINFO, func(pid, n uintptr) []uintptr { return []uintptr{pid, pid, n, info(n)} }),
		{"pidfd-kill", 2, func(a []string) (string, error) { return signalBy(a, pidfdOpen) }},
		{"proc-kill", 2, func(a []string) (string, error) {
			return signalBy(a, func(pid int) (uintptr, error) {
				fd, err := syscall.Open("/proc/"+itoa(pid), syscall.O_DIRECTORY|syscall.O_RDONLY, 0)
				return uintptr(fd), err
			})
		}},
		{"own", 2, func(a []string) (string, error) { return signalByDescriptor(a, syscall.F_SETOWN, false) }},
		{"own-ex", 2, func(a []string) (string, error) { return signalByDescriptor(a, 15, true) }}, // F_SETOWN_EX
		{"kill-all", 1, func(a []string) (string, error) {
			return "", ofProcess(a[0], func(signal int) error { return syscall.Kill(-1, syscall.Signal(signal)) })
		}},
	}
}

func withSignal(a []string, do func(pid, signal int) error) error {
	signal, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	return ofProcess(a[0], func(pid int) error { return do(pid, signal) })
}

func signalBy(a []string, open func(pid int) (uintptr, error)) (step string, err error) {
	step = "open"
	err = withSignal(a, func(pid, signal int) error {
		handle, err := open(pid)
		if err != nil {
			return err
		}
		step = "signal"
		_, err = call(numberPidfdSendSignal, handle, uintptr(signal), 0, 0)
		return err
	})
	return step, err
}

// signalByDescriptor makes another process the owner of a pipe, so that the
// kernel signals it when there is input.
func signalByDescriptor(a []string, request uintptr, extended bool) (step string, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "pair", err
	}
	const setSignal, async = 10, 0x2000 // F_SETSIG, O_ASYNC
	err = withSignal(a, func(pid, signal int) error {
		step = "own"
		owner := uintptr(pid)
		process := [2]int32{1, int32(pid)} // struct f_owner_ex, F_OWNER_PID
		if extended {
			owner = uintptr(unsafe.Pointer(&process))
		}
		_, ownErr := call(syscall.SYS_FCNTL, uintptr(fds[0]), request, owner)
		_, signalErr := call(syscall.SYS_FCNTL, uintptr(fds[0]), setSignal, uintptr(signal))
		_, asyncErr := call(syscall.SYS_FCNTL, uintptr(fds[0]), syscall.F_SETFL, async)
		_, writeErr := syscall.Write(fds[1], []byte{1})
		return errors.Join(ownErr, signalErr, asyncErr, writeErr)
	})
	return step, err
}
