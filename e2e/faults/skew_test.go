//go:build linux && !race

package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// before names another commit than the one before, to be held against.
const before = "TIPSTAFF_FAULTS_BEFORE"

// spoken is what gateways, runners and servers say to each other: the commit before
// is the one before these last changed, because the program of the very last one
// differs from this one in nothing, mostly.
var spoken = []string{"internal/fleet/rpc", "internal/fleet/natsx", "internal/fleet", "internal/fleet/replicate", ":!*_test.go", ":!*/enginetest/*"}

// theCommitBefore builds the program of the commit before this one.
func theCommitBefore(t *testing.T) string {
	t.Helper()
	top := git(t, ".", "rev-parse", "--show-toplevel")
	commit := os.Getenv(before)
	if commit == "" {
		commit = git(t, top, append([]string{"log", "-1", "--format=%H", "--"}, spoken...)...) + "^"
	}
	if git(t, top, append([]string{"diff", "--name-only", commit, "--"}, spoken...)...) == "" {
		t.Fatalf("%s speaks as this commit does: name another in %s", commit, before)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "tipstaff")
	script := `set -e; mkdir "$2/src"; git -C "$3" archive "$1" | tar -x -C "$2/src"; cd "$2/src"; go build -o "$2/tipstaff" ./cmd/tipstaff`
	if out, err := exec.Command("sh", "-c", script, "sh", commit, dir, top).CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v\n%s", commit, err, out)
	}
	if out, err := exec.Command(bin, "runner", "--help").CombinedOutput(); err != nil || !strings.Contains(string(out), "runner") {
		t.Fatalf("the program of %s knows no runners: name a later commit in %s", commit, before)
	}
	t.Logf("the commit before is %s", git(t, top, "log", "-1", "--format=%h %s", commit))
	return bin
}

func git(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	cmd := exec.Command("git", arguments...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// ancestor builds it, once.
func (f *fleet) ancestor() {
	if f.old == "" {
		f.old = theCommitBefore(f.t)
	}
}

// age starts one gateway and one runner again, as the program of before: old and
// new speak to each other in both directions.
func (f *fleet) age() {
	f.t.Helper()
	f.becomes(f.old, f.gateways[0], f.runners[0])
	f.recovered("a gateway and a runner are older")
}

// renew makes them what they were.
func (f *fleet) renew() { f.becomes(f.bin, f.gateways[0], f.runners[0]) }

func (f *fleet) becomes(bin string, all ...*member) {
	for _, m := range all {
		m.stop(time.Minute)
		m.argv[0] = bin
		m.start()
	}
}
