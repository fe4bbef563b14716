//go:build linux

package sandbox

import (
	"os"
	"sync"
	"testing"

	"tipstaff/internal/proc"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// oneEngine serves all tests: a server has one, and many sandboxes may use it.
var oneEngine = sync.OnceValues(func() (*proc.Engine, error) { return proc.NewEngine(proc.Options{}) })

func TestMain(m *testing.M) {
	os.Exit(testcmdtest.Contain(m, func() error {
		e, err := oneEngine()
		if err != nil {
			return err
		}
		return e.Close()
	}))
}
