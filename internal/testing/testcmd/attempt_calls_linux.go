package main

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// callTries concern parts of the kernel that ordinary work does not need.
func callTries() []try {
	plain := func(name string, number uintptr, args ...uintptr) try {
		return try{name, 0, func([]string) (string, error) { _, err := call(number, args...); return "", err }}
	}
	return []try{
		{"io-uring", 0, func([]string) (string, error) {
			var params [120]byte
			_, err := call(numberIOURingSetup, 1, uintptr(unsafe.Pointer(&params)))
			return "", err
		}},
		{"bpf", 0, func([]string) (string, error) {
			attr := [20]uint32{2, 4, 4, 1} // an array: key, value, entries
			_, err := call(numberBPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
			return "", err
		}},
		{"perf", 0, func([]string) (string, error) {
			attr := [16]uint64{1 | 128<<32, 1, 0, 0, 0, 1<<5 | 1<<6} // the task's clock, outside of the kernel
			_, err := call(syscall.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), 0, ^uintptr(0), ^uintptr(0), 0)
			return "", err
		}},
		plain("userfaultfd", numberUserfaultfd, 1),             // UFFD_USER_MODE_ONLY
		plain("keyctl", syscall.SYS_KEYCTL, 0, ^uintptr(3), 1), // the user's keyring
		{"add-key", 0, func([]string) (string, error) {
			kind, name, err := twoPaths("user", "tipstaff-gotcha")
			if err == nil {
				_, err = call(syscall.SYS_ADD_KEY, kind, name, name, 1, ^uintptr(1)) // the process's own keyring
			}
			return "", err
		}},
		{"handle", 1, byHandle},
		plain("personality", syscall.SYS_PERSONALITY, 0x400000), // READ_IMPLIES_EXEC
		plain("no-call", numberOfNoCall),
		plain("openat2", numberOpenat2, ^uintptr(0)),
		plain("reboot", syscall.SYS_REBOOT, 0xfee1dead, 0, 0), // an invalid second number
		{"set-clock", 0, func([]string) (string, error) {
			never := [2]int64{0, -1}
			_, err := call(syscall.SYS_CLOCK_SETTIME, 0, uintptr(unsafe.Pointer(&never)))
			return "", err
		}},
		plain("kernel-log", syscall.SYS_SYSLOG, 10), // the size of the log
		plain("load-module", syscall.SYS_INIT_MODULE, 0, 0, 0),
		plain("swap-on", syscall.SYS_SWAPON, 0, 0),
		plain("move-pages", syscall.SYS_MBIND, 0, 0, 1<<20),
		{"shared-memory", 1, sharedMemory},
		{"message-queue", 1, messageQueue},
		{"type", 0, typeForOthers},
		{"discipline", 0, lineDiscipline},
	}
}

// byHandle opens a file by its handle instead of its path.
func byHandle(a []string) (step string, err error) {
	path, err := pathOf(a[0])
	if err != nil {
		return "", err
	}
	handle := [34]uint32{128}
	mount := int32(0)
	if _, err := call(numberNameToHandle, here, path, uintptr(unsafe.Pointer(&handle)), uintptr(unsafe.Pointer(&mount)), 0); err != nil {
		return "name", err
	}
	dir, err := syscall.Open(".", syscall.O_RDONLY, 0)
	if err != nil {
		return "directory", err
	}
	_, err = call(numberOpenByHandle, uintptr(dir), uintptr(unsafe.Pointer(&handle)), syscall.O_RDONLY)
	return "open", err
}

// sharedMemory reads the first bytes of a segment that another process has
// made.
func sharedMemory(a []string) (string, error) {
	key, err := strconv.ParseUint(a[0], 0, 32)
	if err != nil {
		return "", err
	}
	id, err := call(syscall.SYS_SHMGET, uintptr(key), 0, 0)
	if err != nil {
		return "get", err
	}
	_, err = call(syscall.SYS_SHMAT, id, 0, 010000) // SHM_RDONLY
	return "attach", err
}

func messageQueue(a []string) (string, error) {
	name, err := pathOf(a[0])
	if err == nil {
		_, err = call(syscall.SYS_MQ_OPEN, name, syscall.O_RDONLY, 0, 0)
	}
	return "", err
}

const (
	tiocsti    = 0x5412
	tiocsetd   = 0x5423
	tiocgptn   = 0x80045430
	tiocsptlck = 0x40045431
)

// terminal opens a new terminal, or its other end if that is the only one.
func terminal() (int, error) {
	master, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return -1, err
	}
	var number, unlocked int32
	_, lock := call(syscall.SYS_IOCTL, uintptr(master), tiocsptlck, uintptr(unsafe.Pointer(&unlocked)))
	_, name := call(syscall.SYS_IOCTL, uintptr(master), tiocgptn, uintptr(unsafe.Pointer(&number)))
	if err := errors.Join(lock, name); err != nil {
		return -1, err
	}
	if slave, err := syscall.Open("/dev/pts/"+itoa(int(number)), syscall.O_RDWR, 0); err == nil {
		return slave, nil
	}
	return master, nil
}

// typeForOthers writes a key into the input of the terminal's programs.
func typeForOthers([]string) (string, error) {
	tty, err := terminal()
	if err != nil {
		return "terminal", err
	}
	key := []byte{'x'}
	_, err = call(syscall.SYS_IOCTL, uintptr(tty), tiocsti, uintptr(unsafe.Pointer(&key[0])))
	return "type", err
}

// lineDiscipline sets the present line discipline of the terminal again.
func lineDiscipline([]string) (string, error) {
	tty, err := terminal()
	if err != nil {
		return "terminal", err
	}
	usual := int32(0)
	_, err = call(syscall.SYS_IOCTL, uintptr(tty), tiocsetd, uintptr(unsafe.Pointer(&usual)))
	return "set", err
}

// selfTries concern the process's own permissions.
func selfTries() []try {
	return []try{
		{"landlock", 0, func([]string) (string, error) {
			const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
			abi, err := call(numberLandlockCreate, 0, 0, version)
			return itoa(int(abi)), err
		}},
		{"rights", 0, func([]string) (string, error) {
			status, err := os.ReadFile("/proc/self/status")
			return string(status), err
		}},
	}
}
