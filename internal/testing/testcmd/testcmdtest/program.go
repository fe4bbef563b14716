package testcmdtest

import (
	"os"
	"syscall"
	"testing"
)

// WriteProgram writes an executable file that can be run at once. No process
// is forked while the file is open: a child of another test, between its fork
// and its exec, would hold the open file, and the kernel runs no file that is
// open for writing (ETXTBSY).
func WriteProgram(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
