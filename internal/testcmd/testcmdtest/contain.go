package testcmdtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// contained is set if the tests run in a PID namespace of their own.
const contained = "TIPSTAFF_TEST_CONTAINED"

// Contain runs the tests of a package in a PID namespace of their own, if one
// can be made: they start programs that kill, and end programs themselves, and
// cannot affect processes outside of the namespace. It returns the exit code
// for os.Exit. after runs in the namespace, and removes what the tests made.
func Contain(m *testing.M, after func() error) int {
	if os.Getenv(contained) == "" {
		if code, ok := inside(); ok {
			return code
		}
		fmt.Println("no PID namespace can be made here; the tests run without one")
	}
	code := m.Run()
	if err := after(); err != nil {
		fmt.Println("after the tests:", err)
		code = 1
	}
	return code
}

// inside runs this test binary again in new namespaces, as root, or as root of
// a new user namespace.
func inside() (code int, ok bool) {
	args := []string{"--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Geteuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	if exec.Command("unshare", append(args, "true")...).Run() != nil {
		return 0, false
	}
	cmd := exec.Command("unshare", append(append(args, os.Args[0]), os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), contained+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), true
	case err != nil:
		fmt.Println("cannot run the tests in a namespace:", err)
		return 1, true
	}
	return 0, true
}
