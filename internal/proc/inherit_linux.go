//go:build linux && (amd64 || arm64)

package proc

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ignoredSignals lists the signals that the server was started to ignore
// (nohup, a shell's background jobs). Exec would keep them ignored.
func ignoredSignals() []uintptr {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(data), "SigIgn:")
	mask, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 16, 64)
	if err != nil {
		return nil
	}
	var list []uintptr
	for n := uintptr(1); n <= lastSignal; n++ {
		if mask&(1<<(n-1)) != 0 {
			list = append(list, n)
		}
	}
	return list
}

// originalFiles returns the limit of descriptors that the server was started with. The
// Go runtime raises the limit of the server at its start, and programs that still use
// select must not inherit that. The original limit is that of the parent process; if it
// cannot be read, the usual limit is used.
func originalFiles() unix.Rlimit {
	var own, parents unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &own) != nil {
		return unix.Rlimit{Cur: 1024, Max: 1024}
	}
	usual := uint64(1024)
	if unix.Prlimit(unix.Getppid(), unix.RLIMIT_NOFILE, nil, &parents) == nil {
		usual = parents.Cur
	}
	return unix.Rlimit{Cur: min(usual, own.Max), Max: own.Max}
}

// processesForCommands returns how many processes of its user a command may have, 0 for
// no limit. It is a few less than the server may have: a command that uses up all of
// them must leave the server its threads, or the Go runtime aborts the server. The
// kernel does not apply this limit to root.
func processesForCommands() uint64 {
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &own) != nil || own.Cur == unix.RLIM_INFINITY || own.Cur < 4*spareProcesses {
		return 0
	}
	return own.Cur - spareProcesses
}

const spareProcesses = 32

// spareThreads is the number of threads that the server keeps in reserve.
const spareThreads = 8

// reserveThreads makes the runtime create a few more threads than it needs. The
// runtime aborts the server if it cannot create one, so it needs a reserve when
// a command has used up all processes of the user.
func reserveThreads() {
	var all, there sync.WaitGroup
	there.Add(spareThreads)
	for range spareThreads {
		all.Go(func() {
			runtime.LockOSThread() // so that each goroutine occupies a thread of its own
			defer runtime.UnlockOSThread()
			there.Done()
			there.Wait()
		})
	}
	all.Wait()
}
