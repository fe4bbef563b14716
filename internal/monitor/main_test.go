package monitor

import (
	"os"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestMain(m *testing.M) {
	os.Exit(testcmdtest.Contain(m, func() error { return nil }))
}
