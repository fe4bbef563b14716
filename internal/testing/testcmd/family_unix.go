//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
)

// Programs that leave processes behind.

// again prepares a command that runs another program of this binary.
func again(args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(self, args...), nil
}

// share gives the child the output of this process.
func share(c *exec.Cmd) { c.Stdout, c.Stderr = os.Stdout, os.Stderr }

func hold([]string) error {
	c, err := again("sleep", strconv.FormatInt(lifetime.Milliseconds(), 10))
	if err != nil {
		return err
	}
	share(c)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	fmt.Println(c.Process.Pid)
	return nil
}

// daemon starts a child, waits for it, and so orphans the child's own child,
// which has a session of its own.
func daemon(args []string) error {
	c, err := again(append([]string{"daemon-parent"}, args...)...)
	if err != nil {
		return err
	}
	share(c)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c.Run()
}

func daemonParent(args []string) error {
	c, err := again("daemon-child")
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "keep" {
		share(c)
	}
	ready, done, err := os.Pipe()
	if err != nil {
		return err
	}
	c.ExtraFiles = []*os.File{done} // descriptor 3 of the child
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	if err := done.Close(); err != nil {
		return err
	}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("the daemon died: %w", err)
	}
	fmt.Println(c.Process.Pid)
	return nil
}

func daemonChild([]string) error {
	signal.Ignore()
	done := os.NewFile(3, "ready")
	if _, err := done.Write([]byte{1}); err != nil {
		return err
	}
	if err := done.Close(); err != nil {
		return err
	}
	return forever()
}

func tree(args []string) error {
	depth, err := number(args, maxDepth)
	if err != nil {
		return err
	}
	fmt.Println(os.Getpid())
	if depth > 0 {
		c, err := again("tree", strconv.Itoa(depth-1))
		if err != nil {
			return err
		}
		share(c)
		if err := c.Start(); err != nil {
			return err
		}
	}
	return forever()
}
