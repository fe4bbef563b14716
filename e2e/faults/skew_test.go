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

// before names another commit than the one before this, to be held against.
const before = "TIPSTAFF_FAULTS_BEFORE"

// theCommitBefore builds the program of the commit before this one.
func theCommitBefore(t *testing.T) string {
	t.Helper()
	commit := os.Getenv(before)
	if commit == "" {
		commit = "HEAD^"
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "tipstaff")
	script := `set -e; mkdir "$2/src"; git -C "$(git rev-parse --show-toplevel)" archive "$1" | tar -x -C "$2/src"; cd "$2/src"; go build -o "$2/tipstaff" ./cmd/tipstaff`
	if out, err := exec.Command("sh", "-c", script, "sh", commit, dir).CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v\n%s", commit, err, out)
	}
	if out, err := exec.Command(bin, "runner", "--help").CombinedOutput(); err != nil || !strings.Contains(string(out), "runner") {
		t.Skipf("the program of %s knows no runners: name a later commit in %s", commit, before)
	}
	return bin
}

// age starts one gateway and one runner again, as the program of before: old and
// new speak to each other in both directions.
func (f *fleet) age() {
	f.t.Helper()
	old := theCommitBefore(f.t)
	f.becomes(old, f.gateways[0], f.runners[0])
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
