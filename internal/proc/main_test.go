//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// inside says that the tests run in a PID namespace of their own.
const inside = "TIPSTAFF_TEST_PIDNS"

// TestMain runs the tests in a PID namespace of their own where it can: they
// kill, and what is outside of the namespace cannot be hit.
func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		if code, ok := runInside(); ok {
			os.Exit(code)
		}
		fmt.Println("proc: no PID namespace can be made here; the tests run without one")
	}
	code := m.Run()
	if e, err := oneEngine(); err == nil {
		if err := e.Close(); err != nil {
			fmt.Println("proc:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// runInside runs this test binary again in new namespaces, as root or as the
// user's own root.
func runInside() (code int, ok bool) {
	args := []string{"--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Geteuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	if exec.Command("unshare", append(args, "true")...).Run() != nil {
		return 0, false
	}
	cmd := exec.Command("unshare", append(append(args, os.Args[0]), os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), true
	}
	if err != nil {
		fmt.Println("proc:", err)
		return 1, true
	}
	return 0, true
}
