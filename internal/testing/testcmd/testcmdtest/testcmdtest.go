// Package testcmdtest builds the misbehaving programs of internal/testing/testcmd for
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

// prebuilt is the path of an existing testcmd: a virtual machine that runs the
// tests has no Go (.ci/vm).
const prebuilt = "TIPSTAFF_TEST_TESTCMD"

// Build returns the path of the program testcmd. The first call in a test
// binary builds it, which takes about a second with a cold cache. Call it
// before the test leaves the module's directories. The program is removed
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
	// Fuzzing runs several processes of one test binary concurrently.
	path := filepath.Join(dir, fmt.Sprintf("testcmd-%d.exe", os.Getpid()))
	c := exec.Command("go", "build", "-o", path, "tipstaff/internal/testing/testcmd")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build testcmd: %w\n%s", err, out)
	}
	return path, nil
})

// workDir returns the directory of the test binary, which the go command
// removes. For a test binary that is kept elsewhere, it makes a temporary
// directory, which is not removed.
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
