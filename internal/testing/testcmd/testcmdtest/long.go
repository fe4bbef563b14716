package testcmdtest

import (
	"os"
	"testing"
)

// Long skips a test that takes too long for each run of `go test ./...`, which
// is to end within four minutes on two idle cores. CI sets TIPSTAFF_LONG=1, and
// skips none of them.
func Long(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip("long: TIPSTAFF_LONG=1 runs it, and CI does")
	}
}

// All reports whether every test runs, however long it takes.
func All() bool { return os.Getenv("TIPSTAFF_LONG") == "1" }
