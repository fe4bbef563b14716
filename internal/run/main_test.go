//go:build linux

package run

import (
	"os"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestMain(m *testing.M) {
	os.Exit(testcmdtest.Contain(m, func() error {
		e, err := oneEngine()
		if err != nil {
			return err
		}
		return e.Close()
	}))
}
