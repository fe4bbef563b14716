package audit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestAFileWithAHoleIsNotReadWhole: it takes no room on the disk, and would take all of
// the memory of who verifies, and of each server that starts.
func TestAFileWithAHoleIsNotReadWhole(t *testing.T) {
	const terabyte = 1 << 40
	g := newGround(t)
	in := func(trail, name string) string { return filepath.Join(trail, name) }
	for name, want := range map[string]Reason{
		in(g.server, trailKeyFile): BadCheckpoint, in(g.server, checkpointsFile): BadCheckpoint, in(g.server, segmentFile(3)): TooLong,
		in(g.server, retentionFile): "", in(keysDir, rotationsFile): "", retiredFile: "",
	} {
		dir := g.copy(t)
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrPermission) {
			if err = os.Chmod(path, 0o600); err == nil {
				f, err = os.OpenFile(path, os.O_WRONLY, 0o600)
			}
		}
		if err == nil {
			err = errors.Join(f.Truncate(terabyte), f.Close())
		}
		if err != nil {
			t.Skipf("no file of a terabyte can be made here: %v", err)
		}
		if got := faultOf(t, dir, g.server, VerifyOptions{}); got != want {
			t.Errorf("%s: %q", name, got)
		}
		writtenTrail(t, dir, 1, Options{})
	}
}
