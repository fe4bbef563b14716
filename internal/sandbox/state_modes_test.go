//go:build linux

package sandbox

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
)

func TestTheModesOfTheServersDirectoriesAreKept(t *testing.T) {
	b := newWorld(t)
	own := b.root + "/above/own"
	b.mkdir(own + "/deep")
	b.must(os.Chmod(own, 0o750))
	var log bytes.Buffer
	m := NewModeGuard(slog.New(slog.NewTextHandler(&log, nil)))
	b.must(m.Add(own, own+"/deep"))
	b.must(m.Restore())
	if log.Len() > 0 {
		t.Errorf("without a change it logs %s", &log)
	}
	for _, mode := range []fs.FileMode{0, 0o777, 0o500} {
		b.must(os.Chmod(own+"/deep", 0))
		b.must(os.Chmod(own, mode))
		log.Reset()
		b.must(m.Restore())
		if got := modeOfPath(t, own); got != 0o750 {
			t.Errorf("after %v the mode is %v", mode, got)
		}
		if got := modeOfPath(t, own+"/deep"); got != 0o755 {
			t.Errorf("below it the mode is %v", got)
		}
		if text := log.String(); !strings.Contains(text, "dir="+own+" ") || !strings.Contains(text, "set_back_to=0750") {
			t.Errorf("it logs %s", text)
		}
	}
	if os.Geteuid() != 0 {
		b.must(os.Chmod(b.root+"/above", 0o020))
		b.must(m.Restore())
		if got := modeOfPath(t, b.root+"/above"); got != 0o520 {
			t.Errorf("of a directory above, the mode is %v", got)
		}
	}
	b.must(m.Close())
}

// TestADirectoryThatIsMovedIsStillTheSame: a path may lead elsewhere by then.
func TestADirectoryThatIsMovedIsStillTheSame(t *testing.T) {
	b := newWorld(t)
	b.mkdir(b.root + "/own")
	m := NewModeGuard(slog.New(slog.DiscardHandler))
	b.must(m.Add(b.root + "/own"))
	b.must(os.Rename(b.root+"/own", b.root+"/moved"))
	b.mkdir(b.root + "/own")
	b.must(os.Chmod(b.root+"/own", 0o711))
	b.must(os.Chmod(b.root+"/moved", 0))
	b.must(m.Restore())
	if own, moved := modeOfPath(t, b.root+"/own"), modeOfPath(t, b.root+"/moved"); own != 0o711 || moved != 0o755 {
		t.Errorf("the modes are %v and %v", own, moved)
	}
	b.must(m.Close())
}

func TestNoModesKeepNothing(t *testing.T) {
	var m *ModeGuard
	if err := m.Add("/nowhere"); err != nil {
		t.Error(err)
	}
	if err := m.Restore(); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := NewModeGuard(nil).Add("/is/not/there"); err == nil {
		t.Error("a directory that is not there is kept")
	}
}

func modeOfPath(t *testing.T, path string) fs.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode().Perm()
}
