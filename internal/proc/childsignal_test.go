//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheEndOfAChildWakesNobodyBySignal: SIGCHLD is neither caught, which would
// wake a thread, nor ignored, which would lose how children ended.
func TestTheEndOfAChildWakesNobodyBySignal(t *testing.T) {
	e := newEngine(t)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"SigCgt", "SigIgn"} {
		found := regexp.MustCompile(set + `:\t([0-9a-f]+)`).FindSubmatch(status)
		if found == nil {
			t.Fatalf("no %s in %s", set, status)
		}
		mask, err := strconv.ParseUint(string(found[1]), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if mask&(1<<(unix.SIGCHLD-1)) != 0 {
			t.Errorf("%s has SIGCHLD: %x", set, mask)
		}
	}
	p, _ := spawn(t, e, "sh", "-c", "exit 3")
	if st := p.Status(); st.ExitCode != 3 || st.Err != nil {
		t.Errorf("a command ended as %+v", st)
	}
	p.End(0)
	t.Cleanup(keepFromSweeping(t)) // as the first process of its namespace the engine reaps it
	var ended *exec.ExitError
	if err := exec.Command("sh", "-c", "exit 4").Run(); !errors.As(err, &ended) || ended.ExitCode() != 4 {
		t.Errorf("another child of the process ended as %v", err)
	}
}
