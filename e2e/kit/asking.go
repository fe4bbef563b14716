//go:build unix

package kit

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// asking is the program with a rule of the tests in its policy, which leaves to
// people whatever has the word "needs-a-person" among its arguments.
var asking = sync.OnceValues(func() (string, error) {
	usual, err := binary()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(usual), "tipstaff-asks") // goes with the other
	argv := []string{"build", "-tags", "tipstaff_test_ask", "-o", path}
	if RaceEnabled {
		argv = append(argv, "-race")
	}
	if out, err := exec.Command("go", append(argv, "tipstaff/cmd/tipstaff")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build tipstaff: %v\n%s", err, out)
	}
	return path, nil
})

// AskingPath is a program whose policy asks.
func AskingPath(t testing.TB) string {
	t.Helper()
	FollowSources(t)
	path, err := asking()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
