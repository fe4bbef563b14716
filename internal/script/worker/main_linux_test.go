package worker

import (
	"fmt"
	"os"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == attempts {
		if err := try(len(os.Args) > 2); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testcmdtest.Contain(m, func() error { return nil }))
}
