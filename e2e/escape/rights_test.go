//go:build linux && !race

package escape

import (
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"tipstaff/e2e/kit"
)

func TestEscapeE44WhatProcessesShareByName(t *testing.T) {
	// Objects of the machine, which other tests may use at the same time.
	key, queue := uintptr(rand.Uint32()|1), "tipstaff-test-"+crand.Text()
	name, err := syscall.BytePtrFromString(queue)
	if err != nil {
		t.Fatal(err)
	}
	id, _, errno := syscall.Syscall(syscall.SYS_SHMGET, key, 4096, 0o1000|0o666) // IPC_CREAT
	if errno != 0 {
		t.Fatal("no shared memory can be made: ", errno)
	}
	t.Cleanup(func() { _, _, _ = syscall.Syscall(syscall.SYS_SHMCTL, id, 0, 0) }) // IPC_RMID
	fd, _, errno := syscall.Syscall6(syscall.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), syscall.O_CREAT|syscall.O_RDWR, 0o666, 0, 0, 0)
	if errno != 0 {
		t.Fatal("no queue can be made: ", errno)
	}
	t.Cleanup(func() {
		_, _, _ = syscall.Syscall(syscall.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
		_ = syscall.Close(int(fd))
	})
	if err := syscall.Fchmod(int(fd), 0o666); err != nil {
		t.Fatal(err)
	}
	tried(t, habitat{}, []escape{
		{says: "E44 memory that somebody else has made", try: fmt.Sprintf("shared-memory %#x", key), namespaces: "ENOENT", landlock: "EPERM"},
		{says: "E44 a queue that somebody else has made", try: "message-queue " + queue, namespaces: "ENOENT", landlock: "EPERM"},
	}, nil)
}

// TestEscapeE45NoProgramHasMoreRightsThanTheCommand: the programs belong to
// root and would give every caller root's rights, or a capability.
func TestEscapeE45NoProgramHasMoreRightsThanTheCommand(t *testing.T) {
	furnish := func(t *testing.T, w *world) {
		for _, name := range []string{"becomes-root", "has-capability"} {
			if err := copyFile(w.path("bin/testcmd"), w.path("bin", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Parallel()
	everywhere(t, habitat{furnish: furnish}, func(t *testing.T, w *world) {
		privileged(t, w)
		rights := func(argv ...string) map[string]string { return status(t, w.On(t).Process(argv[0], argv[1:])) }
		plain := rights("testcmd", "attempt", "rights")
		owner := rights("becomes-root", "attempt", "rights")
		able := rights("has-capability", "attempt", "rights")
		third := rights("sh", "-c", `exec sh -c 'exec sh -c "exec testcmd attempt rights"'`)
		if w.tier == kit.None {
			if !strings.HasPrefix(owner["Uid"], fmt.Sprintf("%d\t0\t", w.uid)) {
				t.Errorf("a program does not become root's without a sandbox: %s", owner["Uid"])
			}
			if none(able["CapEff"]) {
				t.Error("a program gets no capability without a sandbox")
			}
			return
		}
		for what, s := range map[string]map[string]string{"a command": plain, "one of root's": owner, "one with a capability": able, "the third in its place": third} {
			if s["Uid"] != fmt.Sprintf("%[1]d\t%[1]d\t%[1]d\t%[1]d", w.uid) {
				t.Errorf("%s is the user %s", what, s["Uid"])
			}
			for _, set := range []string{"CapEff", "CapPrm", "CapInh", "CapAmb"} {
				if !none(s[set]) {
					t.Errorf("%s has %s %s", what, set, s[set])
				}
			}
			if s["NoNewPrivs"] != "1" || s["Seccomp"] != "2" {
				t.Errorf("%s has NoNewPrivs %s, Seccomp %s", what, s["NoNewPrivs"], s["Seccomp"])
			}
		}
	})
}

// privileged gives one program root's rights, and another a capability.
func privileged(t *testing.T, w *world) {
	t.Helper()
	if !kit.MachinesRoot() {
		t.Skip("only root makes programs with rights")
	}
	// struct vfs_cap_data: revision 2, in effect at once; CAP_NET_RAW.
	capability := append([]byte{1, 0, 0, 2, 0, 1 << 5}, make([]byte, 14)...)
	becomes, has := w.path("bin/becomes-root"), w.path("bin/has-capability")
	for _, err := range []error{
		os.Chown(becomes, 0, 0), os.Chmod(becomes, 0o755|os.ModeSetuid),
		os.Chown(has, 0, 0), syscall.Setxattr(has, "security.capability", capability, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// status reads what an attempt found in /proc/self/status.
func status(t *testing.T, r kit.Reply) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for line := range strings.Lines(outcomeOf(t, r).Got) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

func none(capabilities string) bool {
	return strings.Trim(capabilities, "0") == "" && capabilities != ""
}

const rootsSetting = "it is root's"

func TestEscapeE47TheMachinesSettingsStay(t *testing.T) {
	row := func(says, path string) escape {
		return escape{
			says: "E47 " + says, try: "open-write " + path, namespaces: "EROFS EACCES ENOENT", landlock: "EACCES ENOENT",
			rootOnly: rootsSetting, impossible: unwritable(path),
		}
	}
	rows := []escape{
		row("what runs when a program crashes", "/proc/sys/kernel/core_pattern"),
		row("what runs when a module is wanted", "/proc/sys/kernel/modprobe"),
		row("the name of the machine", "/proc/sys/kernel/hostname"),
		row("how many processes there may be", "/proc/sys/kernel/pid_max"),
		row("which memory may be mapped", "/proc/sys/vm/mmap_min_addr"),
		row("what the network does", "/proc/sys/net/ipv4/ip_forward"),
		row("how many namespaces there may be", "/proc/sys/user/max_user_namespaces"),
		row("the kernel's keys", "/proc/sysrq-trigger"),
		row("what runs when a device comes", "/sys/kernel/uevent_helper"),
		row("the state of the machine", "/sys/power/state"),
		row("what binaries are run by", "/proc/sys/fs/binfmt_misc/register"),
	}
	for says, path := range map[string]string{"the machine's memory": "/proc/kcore", "the kernel's log": "/proc/kmsg"} {
		rows = append(rows, escape{
			says: "E47 " + says + " is not read", try: "open-read " + path, namespaces: "EPERM EACCES ENOENT", landlock: "EPERM EACCES ENOENT",
			rootOnly: rootsSetting, impossible: closed(path),
		})
	}
	for _, procs := range cgroupFiles() {
		rows = append(rows, row("to which control group a process belongs: "+procs, procs))
	}
	tried(t, habitat{}, rows, nil)
}

// unwritable says that not even root can open a file for writing here.
func unwritable(path string) func() string {
	return func() string {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return "nobody writes it here: " + err.Error()
		}
		_ = f.Close()
		return ""
	}
}

// cgroupFiles are those through which a process changes its control group.
func cgroupFiles() []string {
	var files []string
	for _, pattern := range []string{"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/*/cgroup.procs"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	return files
}
