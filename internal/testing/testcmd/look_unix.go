//go:build unix

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// printDirectory asks the kernel, because os.Getwd trusts $PWD.
func printDirectory([]string) error {
	path, err := syscall.Getwd()
	if err != nil {
		path = "" // the directory was removed, but its inode still identifies it
	}
	var st syscall.Stat_t
	if err := syscall.Stat(".", &st); err != nil {
		return err
	}
	return printJSON(map[string]any{"path": path, "dev": uint64(st.Dev), "ino": uint64(st.Ino)})
}

// printDescriptors tests each number, because reading /proc/self/fd opens one
// more. It leaves out those of the Go runtime (its poller, and the limits of
// its control group). Descriptors that an ancestor left open for all children
// are included: compare with what the test itself would pass on.
func printDescriptors([]string) error {
	found := map[string]string{}
	for fd := range 4096 {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) != nil {
			continue
		}
		target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil {
			target = "?" // not Linux
		}
		switch {
		case target == "anon_inode:[eventpoll]", target == "anon_inode:[eventfd]", strings.HasPrefix(target, "/sys/fs/cgroup/"):
		default:
			found[strconv.Itoa(fd)] = target
		}
	}
	return printJSON(found)
}

// printSignals prints the Sig lines of /proc/self/status. By then the Go
// runtime has replaced inherited dispositions by its own handlers, except for
// an ignored SIGHUP or SIGINT; blocked signals are as inherited. For exact
// dispositions, let grep print /proc/self/status.
func printSignals([]string) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "Sig") && !strings.HasPrefix(line, "SigQ") {
			fmt.Print(line)
		}
	}
	return nil
}
