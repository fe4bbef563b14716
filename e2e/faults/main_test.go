//go:build linux && !race

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Variables of the processes of this test.
const (
	chosen = "TIPSTAFF_FAULTS"            // which faults: all, six, or a pattern of names
	apart  = "TIPSTAFF_TEST_FAULTS_APART" // set in the namespaces
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == witnessName {
		os.Exit(witness(os.Args[1:]))
	}
	if os.Getenv(apart) == "" && os.Getenv(chosen) != "" {
		if code, ok := inside(); ok {
			os.Exit(code)
		}
	}
	os.Exit(m.Run())
}

// inside runs this test binary again in namespaces of its own: what it starts
// dies with it, and what it mounts and wires is nowhere else.
func inside() (code int, ok bool) {
	spaces := []string{"--pid", "--fork", "--kill-child", "--mount", "--propagation", "private", "--mount-proc", "--net"}
	if exec.Command("unshare", append(spaces, "true")...).Run() != nil {
		return 0, false
	}
	cmd := exec.Command("unshare", append(append(spaces, os.Args[0]), os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), apart+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), true
	case err != nil:
		fmt.Println("cannot run the tests in namespaces:", err)
		return 1, true
	}
	return 0, true
}

// needNamespaces skips a test that nobody asked for, and fails one that was asked
// for and cannot be run.
func needNamespaces(t *testing.T) {
	t.Helper()
	if os.Getenv(chosen) == "" {
		t.Skip("not asked for: make faults runs it, and CI the six of TIPSTAFF_FAULTS=six")
	}
	if os.Getenv(apart) == "" {
		t.Fatal("no namespaces can be made here: it takes root and unshare")
	}
}

// notOfTheSix skips a test that has no place in two minutes.
func notOfTheSix(t *testing.T) {
	t.Helper()
	if os.Getenv(chosen) == "six" {
		t.Skip("not of the six, which have two minutes: make faults runs it")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
