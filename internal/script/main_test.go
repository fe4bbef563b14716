//go:build linux

package script

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"tipstaff/internal/proc"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// fakeArgument makes this test binary a script process: see fake_test.go.
const fakeArgument = "fake-script-process"

// oneEngine serves all tests.
var oneEngine = sync.OnceValues(func() (*proc.Engine, error) { return proc.NewEngine(proc.Options{}) })

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == fakeArgument {
		if err := fake(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(testcmdtest.Contain(m, func() error {
		e, err := oneEngine()
		if err != nil {
			return err
		}
		return e.Close()
	}))
}
