//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// untilFile is a command that ends when the file exists in the workspace.
func untilFile(name string) string {
	return "until [ -e " + name + " ]; do sleep 0.02; done"
}

func makeFile(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
