// Package testcmdtest builds the misbehaving programs of internal/testcmd for
// the tests of other packages.
package testcmdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// prebuilt names a testcmd that is there already: a virtual machine that runs
// the tests has no Go (.ci/vm).
const prebuilt = "TIPSTAFF_TEST_TESTCMD"

// Build returns the path of the program testcmd. The first call of a test
// binary builds it, which takes about a second on a cold cache; it must come
// before the test leaves the module's directories. What is built is removed
// together with the test binary.
func Build(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(prebuilt); path != "" {
		return path, nil
	}
	dir, err := workDir()
	if err != nil {
		return "", err
	}
	// Fuzzing runs several processes of one test binary side by side.
	path := filepath.Join(dir, fmt.Sprintf("testcmd-%d.exe", os.Getpid()))
	c := exec.Command("go", "build", "-o", path, "tipstaff/internal/testcmd")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build testcmd: %w\n%s", err, out)
	}
	return path, nil
})

// workDir is where the go command keeps the test binary, and removes it. A
// test binary that somebody keeps elsewhere gets a temporary directory that
// stays behind.
func workDir() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if dir := filepath.Dir(self); strings.Contains(dir, "go-build") {
		return dir, nil
	}
	return os.MkdirTemp("", "testcmd")
}
