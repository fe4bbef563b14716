package seccomp

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"
)

// foreignCall asks for getpid through the entry for 32-bit programs.
func foreignCall() {
	code, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	copy(code, []byte{
		0xb8, 20, 0, 0, 0, // mov $20, %eax
		0xcd, 0x80, // int $0x80
		0xc3, // ret
	})
	if err := syscall.Mprotect(code, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		panic(err)
	}
	entry := &code[0]
	pointer := &entry // a function value points to a pointer to its code
	(*(*func())(unsafe.Pointer(&pointer)))()
}

func TestACallOfAnotherArchitectureKills(t *testing.T) {
	if out, err := run(t, withoutOne, "foreign"); err != nil {
		t.Skipf("32-bit calls do not exist here: %v %s", err, out)
	}
	_, err := run(t, "0", "foreign")
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("the process ended with %v", err)
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGSYS {
		t.Errorf("the process ended with %v, not SIGSYS", err)
	}
}
