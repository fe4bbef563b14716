package proc

import (
	"fmt"
	"os/exec"
)

// HandOver starts a program of the person at this machine, such as a browser, and
// leaves it alone: nothing confines it, it is not ended, and it outlives this process.
// It must not be used to run a command; a test (internal/testing/archtest) names who
// may call it. The program has no standard streams, and is in a process session of its
// own. HandOver returns when the program has been started.
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
