//go:build linux && !race

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
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
		// What it starts dies with it, and what it mounts and wires is nowhere else.
		if code, ok := testcmdtest.Again(apart, "--pid", "--fork", "--kill-child", "--mount", "--propagation", "private", "--mount-proc", "--net"); ok {
			os.Exit(code)
		}
	}
	if os.Getpid() == 1 {
		os.Exit(first())
	}
	os.Exit(m.Run())
}

// first is the first process of the namespace, and does what that of a machine does:
// it takes in what a killed runner leaves behind, and lets it end.
func first() (code int) {
	self, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Println("cannot run the tests in namespaces:", err)
		return 1
	}
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Println("cannot wait for the tests:", err)
			return 1
		case pid == self.Pid && status.Exited():
			return status.ExitStatus()
		case pid == self.Pid:
			return 1
		}
	}
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
