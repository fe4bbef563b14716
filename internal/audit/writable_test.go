package audit

import (
	"os"
	"path/filepath"
	"testing"
)

func TestADirectoryIsTriedWithoutATrace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, writable := range map[string]bool{dir: true, filepath.Join(dir, "none"): true, file: false, filepath.Join(file, "below"): false} {
		if err := Writable(path); (err == nil) != writable {
			t.Errorf("%s: %v", path, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
