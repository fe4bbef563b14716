package testcmdtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alone is set if a test runs in a control group that was made for it.
const alone = "TIPSTAFF_TEST_ALONE"

// Group is a control group for a process that runs a test again. The process
// may enable controllers in it.
type Group struct {
	Dir  string
	User int    // the user who runs in it; 0: root, or the user who runs the tests
	Sub  string // the group below it in which the test runs; "": none
}

// Alone reports whether this process runs tests in a [Group].
func Alone() bool { return os.Getenv(alone) != "" }

// RunAlone runs the test that calls it again, in a process that is alone in a
// control group of its own, and reports whether this is that process. If no
// such group can be made, it skips the test.
func RunAlone(t *testing.T, change ...func(*Group)) bool {
	t.Helper()
	if Alone() {
		return true
	}
	g := NewGroup(t)
	for _, c := range change {
		c(g)
	}
	out, err := g.Command(t, "^"+t.Name()+"$").CombinedOutput()
	switch {
	case err != nil && !Lost(err):
		t.Errorf("in a control group of its own: %v\n%s", err, out)
	case bytes.HasPrefix(lastResult(out), []byte("--- SKIP")):
		t.Skipf("in a control group of its own: %s", out)
	case !bytes.Contains(out, []byte("--- PASS: "+t.Name())):
		t.Errorf("in a control group of its own nothing ran: %s", out)
	default:
		t.Logf("%s", out)
	}
	return false
}

// lastResult returns the line with the result of a test, which follows those of
// its subtests.
func lastResult(out []byte) (line []byte) {
	for l := range bytes.Lines(out) {
		if bytes.HasPrefix(l, []byte("--- ")) {
			line = l
		}
	}
	return line
}

// Command returns a command that runs tests of this binary again, in the group.
func (g *Group) Command(t *testing.T, tests string) *exec.Cmd {
	t.Helper()
	dir, err := os.Open(filepath.Join(g.Dir, g.Sub))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	cmd := exec.Command(os.Args[0], "-test.run="+tests, "-test.v", "-test.short="+strconv.FormatBool(testing.Short()))
	cmd.Env = append(os.Environ(), alone+"=1", contained+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if g.User != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(g.User), Gid: uint32(g.User)}
	}
	return cmd
}

// GiveTo gives the group to another user, as systemd does with Delegate=yes.
// The test then runs as that user.
func GiveTo(t *testing.T, user int) func(*Group) {
	return func(g *Group) {
		if os.Geteuid() != 0 {
			t.Skip("only root can hand a control group to another user")
		}
		g.User = user
		for _, name := range []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
			if err := os.Chown(filepath.Join(g.Dir, name), user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// NewGroup makes a control group in the nearest ancestor that delegates its
// controllers. It is removed at the end of the test, with everything in it.
func NewGroup(t *testing.T) *Group {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	path, ok := strings.CutPrefix(strings.TrimSpace(string(own)), "0::")
	if err != nil || !ok {
		t.Skip("this machine has no control groups but those of version 1")
	}
	const root = "/sys/fs/cgroup"
	for above := filepath.Join(root, path); ; above = filepath.Dir(above) {
		handed, _ := os.ReadFile(filepath.Join(above, "cgroup.subtree_control"))
		names := strings.Fields(string(handed))
		if slices.Contains(names, "memory") && slices.Contains(names, "pids") {
			dir, err := os.MkdirTemp(above, "test-tipstaff-*") //nolint:usetesting // not in /tmp
			if err != nil {
				t.Skip("no control group can be made here: ", err)
			}
			t.Cleanup(func() { clearGroup(t, dir) })
			return &Group{Dir: dir}
		}
		if above == root || above == "/" {
			t.Skip("no control group here hands on the controllers memory and pids")
		}
	}
}

// clearGroup kills the processes in a group, and removes it with those below
// it.
func clearGroup(t *testing.T, dir string) {
	limit := time.Now().Add(5 * time.Second)
	for {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		err := removeGroups(dir)
		if err == nil {
			return
		}
		if time.Now().After(limit) {
			t.Errorf("cannot remove the control group of the test: %v", err)
			return
		}
		time.Sleep(time.Millisecond) // a killed process takes a moment to disappear
	}
}

func removeGroups(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroups(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir)
}
