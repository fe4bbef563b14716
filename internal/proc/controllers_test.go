//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestAServerLeavesItsGroupToBoundCommands(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	before, err := ownCgroup()
	if err != nil {
		t.Fatal(err)
	}
	first := boundEngine(t)
	now, _ := ownCgroup()
	if want := filepath.Join(before, serverGroup); now != want {
		t.Errorf("the server is in %s, want %s", now, want)
	}
	if filepath.Dir(first.cgroups.base) != before {
		t.Errorf("its directory is %s", first.cgroups.base)
	}
	second := boundEngine(t)
	if filepath.Dir(second.cgroups.base) != before {
		t.Errorf("the directory of another engine is %s", second.cgroups.base)
	}
	for _, e := range []*Engine{first, second} {
		if st, text := run(t, e, "echo ran"); st.ExitCode != 0 || text != "ran\n" {
			t.Errorf("a command that nothing bounds: %+v, %q", st, text)
		}
		bound(t, e, GroupLimits{MemoryBytes: 64 * mib, Processes: 20}, nil)
		if st, text := run(t, e, "echo ran"); st.ExitCode != 0 || text != "ran\n" || st.Usage.PeakBytes == 0 || st.Usage.OutOfMemory || st.Usage.RefusedProcesses != 0 {
			t.Errorf("a command that is bounded: %+v, %q", st, text)
		}
	}
}

// TestARootServerMayBeInAnotherUsersGroup: its zygotes have no capabilities, and
// the group is not theirs.
func TestARootServerMayBeInAnotherUsersGroup(t *testing.T) {
	give := testcmdtest.GiveTo(t, 1000)
	if !testcmdtest.RunAlone(t, func(g *testcmdtest.Group) { give(g); g.User = 0 }) {
		return
	}
	inEachTier(t, func(t *testing.T, e *Engine, spec *NamespaceSpec) {
		bound(t, e, GroupLimits{Processes: 30}, spec)
		if st, text := run(t, e, "echo ran"); st.ExitCode != 0 || text != "ran\n" {
			t.Errorf("%+v, %q", st, text)
		}
	})
}

func TestAServerThatIsNotAloneBoundsNothing(t *testing.T) {
	if !testcmdtest.RunAlone(t, func(g *testcmdtest.Group) {
		other := g.Command(t, "^TestHelperWaits$")
		stdin, err := other.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stdin.Close(); _ = other.Wait() })
	}) {
		return
	}
	before, _ := ownCgroup()
	e := newEngine(t)
	b := e.Bounds()
	if b.Memory || b.Processes || !strings.Contains(b.Reason, "other processes") || !strings.Contains(b.Reason, "systemd-run") {
		t.Errorf("%+v", b)
	}
	if now, _ := ownCgroup(); now != before {
		t.Errorf("it has moved to %s", now)
	}
	if _, err := os.Stat(filepath.Join(before, serverGroup)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has made a group to move into: %v", err)
	}
	for _, l := range []GroupLimits{{MemoryBytes: 1 << 30}, {Processes: 50}} {
		if _, err := e.NewEnclosure(EnclosureSpec{Group: l}); err == nil || !strings.Contains(err.Error(), "other processes") {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if e.cgroups == nil {
		t.Fatal("it has no control groups at all: ", e.noCgroups)
	}
	if st, text := run(t, e, "echo ran"); st.ExitCode != 0 || text != "ran\n" {
		t.Errorf("%+v, %q", st, text)
	}
}

// TestHelperWaits is another process in a group: it ends with its input.
func TestHelperWaits(t *testing.T) {
	if !testcmdtest.Alone() {
		t.Skip("it is run by another test")
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestAServerInASubgroupUsesWhatWasHandedOver(t *testing.T) {
	if !testcmdtest.RunAlone(t, func(g *testcmdtest.Group) {
		g.Sub = "main"
		if err := os.Mkdir(filepath.Join(g.Dir, g.Sub), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setxattr(g.Dir, "user.delegate", []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
	}) {
		return
	}
	before, _ := ownCgroup()
	e := boundEngine(t)
	if now, _ := ownCgroup(); now != before || filepath.Base(now) != "main" {
		t.Errorf("the server was in %s and is in %s", before, now)
	}
	if filepath.Dir(e.cgroups.base) != filepath.Dir(before) {
		t.Errorf("its directory is %s", e.cgroups.base)
	}
	bound(t, e, GroupLimits{MemoryBytes: 64 * mib}, nil)
	if st, _ := run(t, e, eat); !st.Usage.OutOfMemory {
		t.Errorf("%+v", st)
	}
}

func TestAUnitIsDividedOnlyWhereSystemdSaysSo(t *testing.T) {
	unit := func(marked bool) func(*testcmdtest.Group) {
		return func(g *testcmdtest.Group) {
			g.Sub = "x.service"
			dir := filepath.Join(g.Dir, g.Sub)
			if err := os.WriteFile(filepath.Join(g.Dir, "cgroup.subtree_control"), []byte("+memory +pids"), 0); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if marked {
				if err := unix.Setxattr(dir, "user.delegate", []byte("1"), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root may divide what was not handed over")
	}
	if !testcmdtest.Alone() {
		testcmdtest.RunAlone(t, unit(false))
		testcmdtest.RunAlone(t, unit(true))
		return
	}
	own, _ := ownCgroup()
	marked := handedOver(own)
	e := newEngine(t)
	b := e.Bounds()
	if b.Memory != marked || b.Processes != marked || !marked && !strings.Contains(b.Reason, "Delegate=yes") {
		t.Errorf("marked %v: %+v", marked, b)
	}
	if now, _ := ownCgroup(); (now != own) != marked {
		t.Errorf("marked %v: it was in %s and is in %s", marked, own, now)
	}
}

func TestWhatLiesInAMarkedGroupAsAUnitIsSystemds(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Setxattr(dir, "user.delegate", []byte("1"), 0); err != nil {
		t.Skip("no attributes of files here: ", err)
	}
	for name, want := range map[string]bool{"main": true, "x.service": false, "x.scope": false, "x.slice": false} {
		if got := isSubgroup(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if isSubgroup(filepath.Join(dir, "main", "below")) {
		t.Error("what is further below")
	}
}
