package main

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"
)

// processTries concern another process, whose id is the first argument.
func processTries() []try {
	return []try{
		{"see", 1, see},
		{"ptrace", 1, func(a []string) (string, error) { return "", ofProcess(a[0], trace) }},
		{"traced", 0, func([]string) (string, error) {
			_, err := call(syscall.SYS_PTRACE, syscall.PTRACE_TRACEME, 0, 0)
			return "", err
		}},
		{"vm-read", 2, func(a []string) (string, error) { return otherMemory(numberVMReadv, a) }},
		{"vm-write", 2, func(a []string) (string, error) { return otherMemory(numberVMWritev, a) }},
		{"pidfd-getfd", 2, takeDescriptor},
		{"kcmp", 1, func(a []string) (string, error) {
			return "", ofProcess(a[0], func(pid int) error {
				const compareFiles = 2 // KCMP_FILES
				_, err := call(numberKcmp, uintptr(os.Getpid()), uintptr(pid), compareFiles)
				return err
			})
		}},
		{"process-madvise", 2, adviseOther},
		{"prlimit", 1, func(a []string) (string, error) { return "", ofProcess(a[0], lowerLimit) }},
		{"ask-limit", 1, func(a []string) (string, error) {
			return "", ofProcess(a[0], func(pid int) error {
				var l syscall.Rlimit
				_, err := call(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_CORE, 0, uintptr(unsafe.Pointer(&l)))
				return err
			})
		}},
		{"renice", 1, func(a []string) (string, error) {
			return "", ofProcess(a[0], slower)
		}},
		{"affinity", 1, func(a []string) (string, error) { return "", ofProcess(a[0], narrowAffinity) }},
		{"ionice", 1, func(a []string) (string, error) {
			return "", ofProcess(a[0], func(pid int) error {
				const process, lowest = 1, 2<<13 | 7 // IOPRIO_WHO_PROCESS, IOPRIO_CLASS_BE
				_, err := call(syscall.SYS_IOPRIO_SET, process, uintptr(pid), lowest)
				return err
			})
		}},
		{"schedule", 1, func(a []string) (string, error) {
			return "", ofProcess(a[0], func(pid int) error {
				const batch = 3 // SCHED_BATCH
				var priority int32
				_, err := call(syscall.SYS_SCHED_SETSCHEDULER, uintptr(pid), batch, uintptr(unsafe.Pointer(&priority)))
				return err
			})
		}},
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func ofProcess(id string, do func(pid int) error) error {
	pid, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	return do(pid)
}

// see searches the list of all processes for one.
func see(a []string) (string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == a[0] }) {
		return "", syscall.ESRCH
	}
	return "", nil
}

// trace stops a process and lets it continue.
func trace(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.PtraceAttach(pid); err != nil {
		return err
	}
	var ws syscall.WaitStatus
	const anyKind = 0x40000000 // __WALL
	if _, err := syscall.Wait4(pid, &ws, anyKind, nil); err != nil {
		return err
	}
	return syscall.PtraceDetach(pid)
}

// otherMemory reads or writes one word at an address of another process. It
// writes the word that is already there.
func otherMemory(number uintptr, a []string) (string, error) {
	address, err := strconv.ParseUint(a[1], 16, 64)
	if err != nil {
		return "", err
	}
	word := uint64(0)
	local := syscall.Iovec{Base: (*byte)(unsafe.Pointer(&word)), Len: 8}
	remote := [2]uint64{address, 8} // struct iovec
	return "", ofProcess(a[0], func(pid int) error {
		if number == numberVMWritev {
			_, _ = call(numberVMReadv, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1)
		}
		_, err := call(number, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1)
		return err
	})
}

func pidfdOpen(pid int) (uintptr, error) { return call(numberPidfdOpen, uintptr(pid), 0) }

func takeDescriptor(a []string) (step string, err error) {
	fd, err := strconv.Atoi(a[1])
	if err != nil {
		return "", err
	}
	step = "open"
	err = ofProcess(a[0], func(pid int) error {
		handle, err := pidfdOpen(pid)
		if err != nil {
			return err
		}
		step = "get"
		_, err = call(numberPidfdGetfd, handle, uintptr(fd), 0)
		return err
	})
	return step, err
}

// adviseOther gives advice about a page of another process.
func adviseOther(a []string) (step string, err error) {
	address, err := strconv.ParseUint(a[1], 16, 64)
	if err != nil {
		return "", err
	}
	step = "open"
	err = ofProcess(a[0], func(pid int) error {
		handle, err := pidfdOpen(pid)
		if err != nil {
			return err
		}
		step = "advise"
		const cold = 20 // MADV_COLD
		page := [2]uint64{address &^ 4095, 4096}
		_, err = call(numberProcessMadvise, handle, uintptr(unsafe.Pointer(&page)), 1, cold, 0)
		return err
	})
	return step, err
}

// lowerLimit sets the limit for core files of a process to 0.
func lowerLimit(pid int) error {
	none := syscall.Rlimit{}
	_, err := call(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_CORE, uintptr(unsafe.Pointer(&none)), 0)
	return err
}

// slower increases the nice value of a process by 1.
func slower(pid int) error {
	before, err := syscall.Getpriority(syscall.PRIO_PROCESS, pid)
	if err != nil {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PROCESS, pid, 20-before+1) // the system call returns 20 minus the nice value
}

// narrowAffinity restricts a process to one processor.
func narrowAffinity(pid int) error {
	var all [128]byte
	n, err := call(syscall.SYS_SCHED_GETAFFINITY, uintptr(pid), uintptr(len(all)), uintptr(unsafe.Pointer(&all)))
	if err != nil {
		return err
	}
	one := [128]byte{}
	for i, b := range all[:n] {
		if b != 0 {
			one[i] = b & -b
			break
		}
	}
	_, err = call(syscall.SYS_SCHED_SETAFFINITY, uintptr(pid), n, uintptr(unsafe.Pointer(&one)))
	return err
}
