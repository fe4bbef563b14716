//go:build linux && (amd64 || arm64)

package proc

import (
	"os"
	"path/filepath"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// TestWhatIsHandedOverGoesOnAlone: it gets its words and its environment, and no
// terminal's signals; that it outlives this process is the system's doing.
func TestWhatIsHandedOverGoesOnAlone(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "opener")
	testcmdtest.WriteProgram(t, program, "#!/bin/sh\nprintf '%s|%s|%s|' \"$0\" \"$1\" \"$HANDED\" >got.tmp\nmv got.tmp \"$2\"\n")
	got := filepath.Join(dir, "got")
	t.Chdir(dir)
	if err := HandOver(program, []string{program, "http://x/", got}, []string{"HANDED=yes", "PATH=/usr/bin:/bin"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool {
		_, err := os.Stat(got)
		return err == nil
	})
	if data, err := os.ReadFile(got); err != nil || string(data) != program+"|http://x/|yes|" {
		t.Errorf("%v %q", err, data)
	}
	if HandOver(filepath.Join(dir, "none"), []string{"none"}, nil) == nil {
		t.Error("a program that is not there")
	}
}
