package worker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// attempts is the argument of this test binary with which it tries to make
// programs; with "forbidden" behind it, after it has forbidden itself to.
const attempts = "__attempts"

// try tries everything that would make this process another program, or make one,
// and says what came of it.
func try(forbidden bool) error {
	if forbidden {
		if err := proc.ForbidPrograms(); err != nil {
			return err
		}
		if err := proc.ForbidWriting(); err != nil {
			return err
		}
	}
	calls := map[string][2]uintptr{"execveat": {unix.SYS_EXECVEAT}, "clone": {unix.SYS_CLONE, uintptr(unix.SIGCHLD)}, "clone vm": {unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_VFORK}, "clone3": {unix.SYS_CLONE3}, "ptrace": {unix.SYS_PTRACE, 99}}
	if forbidden {
		for name, c := range calls {
			_, _, e := syscall.RawSyscall6(c[0], c[1], 0, 0, 0, 0, 0)
			fmt.Println(name, unix.ErrnoName(e))
		}
		path := append([]byte("/bin/true"), 0)
		_, _, e := syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(&path[0])), 0, 0)
		fmt.Println("execve", unix.ErrnoName(e))
	}
	fmt.Println("os/exec", exec.Command("/bin/true").Run() == nil)
	dir := os.Getenv("DIR")
	for _, c := range []struct {
		name string
		f    func() error
	}{ // in this order: each finds the file that it needs
		{"create", func() error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o600) }},
		{"open", func() error {
			f, err := os.OpenFile(filepath.Join(dir, "old"), os.O_WRONLY, 0)
			return errors.Join(err, f.Close())
		}},
		{"mkdir", func() error { return os.Mkdir(filepath.Join(dir, "d"), 0o700) }},
		{"rename", func() error { return os.Rename(filepath.Join(dir, "old"), filepath.Join(dir, "older")) }},
		{"remove", func() error { return os.Remove(filepath.Join(dir, "gone")) }},
	} {
		fmt.Println(c.name, c.f() == nil)
	}
	b, err := os.ReadFile(filepath.Join(dir, "read"))
	fmt.Println("read", string(b), err)
	var all sync.WaitGroup
	for range 50 { // each holds a thread of its own
		all.Go(func() { runtime.LockOSThread(); _ = unix.Nanosleep(&unix.Timespec{Nsec: 2e7}, nil) })
	}
	all.Wait()
	fmt.Println("threads true")
	return nil
}

func TestAScriptProcessCanMakeNoProgramAndWriteNoFile(t *testing.T) {
	run := func(args ...string) string {
		dir := t.TempDir()
		for _, name := range []string{"old", "read", "gone"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		c := exec.Command("/proc/self/exe", append([]string{attempts}, args...)...)
		c.Env, c.Stdout, c.Stderr = []string{"DIR=" + dir}, &out, &out
		if err := c.Run(); err != nil {
			t.Fatalf("%v %s", err, &out)
		}
		return out.String()
	}
	free, bound := run(), run("forbidden")
	for _, name := range []string{"os/exec", "create", "open", "mkdir", "rename", "remove"} {
		if !strings.Contains(free, name+" true\n") {
			t.Errorf("without a filter, %s fails: %s", name, free)
		}
		if !strings.Contains(bound, name+" false\n") {
			t.Errorf("%s works: %s", name, bound)
		}
	}
	for _, want := range []string{"execve EPERM", "execveat EPERM", "clone EPERM", "clone vm EPERM", "clone3 ENOSYS", "ptrace EPERM", "read text <nil>", "threads true"} {
		if !strings.Contains(bound, want+"\n") {
			t.Errorf("not %q: %s", want, bound)
		}
	}
}
