package main

import (
	"errors"
	"os/exec"
	"syscall"
	"unsafe"
)

// kernelTries concern namespaces and mounts.
func kernelTries() []try {
	var list []try
	for name, flag := range map[string]uintptr{
		"user": syscall.CLONE_NEWUSER, "mount": syscall.CLONE_NEWNS, "network": syscall.CLONE_NEWNET, "pid": syscall.CLONE_NEWPID,
		"ipc": syscall.CLONE_NEWIPC, "uts": syscall.CLONE_NEWUTS, "cgroup": 0x02000000, "time": 0x80,
	} {
		list = append(list, try{"unshare-" + name, 0, func([]string) (string, error) {
			return "", startWith(&syscall.SysProcAttr{Unshareflags: flag})
		}})
		if name == "time" {
			continue // in clone, this bit belongs to the signal
		}
		list = append(list, try{"clone-" + name, 0, func([]string) (string, error) {
			return "", startWith(&syscall.SysProcAttr{Cloneflags: flag})
		}})
	}
	return append(list,
		try{"clone3", 0, func([]string) (string, error) { return "", clone3(0) }},
		try{"clone3-user", 0, func([]string) (string, error) { return "", clone3(syscall.CLONE_NEWUSER) }},
		try{"setns", 1, enterNamespace},
		try{"mount", 1, func(a []string) (string, error) { return "", syscall.Mount("none", a[0], "tmpfs", 0, "") }},
		try{"bind", 2, func(a []string) (string, error) { return "", syscall.Mount(a[0], a[1], "", syscall.MS_BIND, "") }},
		try{"remount", 1, func(a []string) (string, error) {
			return "", syscall.Mount("", a[0], "", syscall.MS_REMOUNT|syscall.MS_BIND, "")
		}},
		try{"unmount", 1, func(a []string) (string, error) { return "", syscall.Unmount(a[0], 2) }}, // MNT_DETACH
		try{"pivot-root", 1, pivotRoot},
		try{"chroot", 1, func(a []string) (string, error) { return "", syscall.Chroot(a[0]) }},
		try{"open-tree", 1, func(a []string) (string, error) { _, err := openTree(a[0]); return "", err }},
		try{"move-mount", 2, moveMount},
		try{"mount-setattr", 1, mountSetattr},
		try{"fsopen", 0, func([]string) (string, error) {
			kind, err := pathOf("tmpfs")
			if err == nil {
				_, err = call(numberFsopen, kind, 0)
			}
			return "", err
		}},
	)
}

// startWith starts a program with attributes that does nothing. It has no
// threads, which could not be created if children are in another namespace.
func startWith(attr *syscall.SysProcAttr) error {
	c := exec.Command("/bin/true")
	c.SysProcAttr = attr
	return c.Run()
}

// cloneArgs is struct clone_args in its first version.
type cloneArgs struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64 }

// clone3 makes a process that ends at once.
func clone3(flags uint64) error {
	args := cloneArgs{flags: flags, exitSignal: uint64(syscall.SIGCHLD)}
	pid, _, errno := syscall.RawSyscall(numberClone3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if pid == 0 && errno == 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	var ws syscall.WaitStatus
	_, err := syscall.Wait4(int(pid), &ws, 0, nil)
	return err
}

// enterNamespace enters the namespace that a file stands for.
func enterNamespace(a []string) (string, error) {
	fd, err := syscall.Open(a[0], syscall.O_RDONLY, 0)
	if err != nil {
		return "open", err
	}
	_, err = call(numberSetns, uintptr(fd), 0)
	return "enter", err
}

// pivotRoot uses the present root as the new root, which the kernel checks
// last.
func pivotRoot(a []string) (string, error) {
	root, old, err := twoPaths(a[0], a[0])
	if err == nil {
		_, err = call(syscall.SYS_PIVOT_ROOT, root, old)
	}
	return "", err
}

const openTreeClone = 1

func openTree(path string) (uintptr, error) {
	p, err := pathOf(path)
	if err != nil {
		return 0, err
	}
	return call(numberOpenTree, here, p, openTreeClone)
}

func moveMount(a []string) (step string, err error) {
	fd, err := openTree(a[0])
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		fd, err = 0, nil // then with what there is
	}
	if err != nil {
		return "open", err
	}
	from, to, err := twoPaths("", a[1])
	if err == nil {
		const emptyFrom = 4 // MOVE_MOUNT_F_EMPTY_PATH
		_, err = call(numberMoveMount, fd, from, here, to, emptyFrom)
	}
	return "move", err
}

func mountSetattr(a []string) (string, error) {
	p, err := pathOf(a[0])
	if err != nil {
		return "", err
	}
	attr := struct{ set, clear, propagation, user uint64 }{clear: 1} // MOUNT_ATTR_RDONLY
	_, err = call(numberMountSetattr, here, p, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	return "", err
}
