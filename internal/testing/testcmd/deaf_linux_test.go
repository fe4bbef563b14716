package main

import (
	"syscall"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestDeafHandsOnWhatItBlocksAndIgnores(t *testing.T) {
	status, _, err := run(t, "", "deaf", "cat", "/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"SigBlk", "SigIgn"} {
		bits := signalBits(t, status, set)
		for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD, syscall.SIGTSTP, syscall.SIGPIPE} {
			if bits&(1<<(s-1)) == 0 {
				t.Errorf("%v is not in %s: %x", s, set, bits)
			}
		}
	}
	if _, why, err := run(t, "", "deaf"); err == nil || why != "testcmd: no command was named\n" {
		t.Errorf("without a command: %v, %q", err, why)
	}
	if out, _, _ := run(t, "", "deaf", testcmdtest.Build(t), "exit", "3"); out != "" {
		t.Errorf("it says %q itself", out)
	}
}
