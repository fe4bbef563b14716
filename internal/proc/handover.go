package proc

import (
	"fmt"
	"os/exec"
)

// HandOver starts a program of the person at this machine, such as a browser, and
// leaves it alone: nothing confines it, it is not ended, and it outlives this process.
// It is no way to run a command; the floors test says who may call it. The program
// has no standard streams and is in no process session of a terminal.
func HandOver(path string, argv, env []string) error {
	cmd := exec.Command(path)
	cmd.Args, cmd.Env = argv, env
	cmd.SysProcAttr = newSession()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", path, err)
	}
	go func() { _ = cmd.Wait() }() // ends with the program, or with this process
	return nil
}
