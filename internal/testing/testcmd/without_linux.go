package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// A filter makes any kernel look like an old one, or like a container whose
// seccomp profile answers ENOSYS.

// without starts a command for which some system calls do not exist: their
// numbers, separated by commas, are the first argument. Threads of this process
// keep them.
func without(args []string) error {
	if len(args) < 2 {
		return errors.New("system calls and a command are wanted")
	}
	numbers, err := numbersIn(args[0])
	if err != nil {
		return err
	}
	return becomeUnderFilter(noSuchCalls(numbers), args[1:], os.Environ())
}

// instruction is struct sock_filter.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

func numbersIn(list string) ([]uint32, error) {
	var numbers []uint32
	for n := range strings.SplitSeq(list, ",") {
		number, err := strconv.ParseUint(n, 10, 32)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, uint32(number))
	}
	return numbers, nil
}

// noSuchCalls returns a filter that answers some calls with ENOSYS and allows
// the others.
func noSuchCalls(numbers []uint32) []instruction {
	const (
		load, equals, give = 0x20, 0x15, 0x06 // BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
		allow, refuse      = 0x7fff0000, 0x00050000 | uint32(syscall.ENOSYS)
	)
	filter := []instruction{{code: load}} // load the number
	for i, n := range numbers {
		filter = append(filter, instruction{equals, uint8(len(numbers) - i), 0, n})
	}
	return append(filter, instruction{code: give, k: allow}, instruction{code: give, k: refuse})
}

// becomeUnderFilter executes another program, with the filter.
func becomeUnderFilter(filter []instruction, command, env []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	const noNewPrivs, setSeccomp, byFilter = 38, 22, 2 // PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER
	program := struct {
		n     uint16
		first *instruction
	}{uint16(len(filter)), &filter[0]}
	runtime.LockOSThread() // both belong to the thread, and exec keeps those of this one
	if _, err := call(syscall.SYS_PRCTL, noNewPrivs, 1); err != nil {
		return err
	}
	if _, err := call(syscall.SYS_PRCTL, setSeccomp, byFilter, uintptr(unsafe.Pointer(&program))); err != nil {
		return err
	}
	return syscall.Exec(path, command, env)
}
