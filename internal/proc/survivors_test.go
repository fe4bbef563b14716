//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestASurvivorOfAKilledServerIsEndedByTheNext(t *testing.T) {
	for _, kind := range []string{"best", "marks"} {
		t.Run(kind, func(t *testing.T) {
			state := t.TempDir()
			// A server that is killed, and one that lives on.
			dead, deadPIDs := serverProcess(t, state, kind)
			_, livePIDs := serverProcess(t, state, kind)
			_ = dead.Process.Kill()
			_ = dead.Wait()
			left := 0
			for _, pid := range deadPIDs {
				if running(pid) {
					left++
				}
			}
			if left == 0 {
				t.Fatal("nothing survived the killed server: nothing is shown")
			}
			e, err := NewEngine(Options{StateDir: state})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			wantNone(t, deadPIDs)
			for _, pid := range livePIDs {
				if !running(pid) {
					t.Errorf("process %d of the living server was ended", pid)
				}
			}
			if n, err := e.reap(); n != 0 || err != nil {
				t.Errorf("looking again: %d, %v", n, err)
			}
		})
	}
}

// serverProcess runs this test binary as a server that has left a daemon
// behind, and tells the process ids that run for it.
func serverProcess(t *testing.T, state, kind string) (*exec.Cmd, []int) {
	t.Helper()
	return startServer(t, exec.Command(os.Args[0], "-test.run=^TestHelperServer$"), state, kind)
}

// serverProcessIn is serverProcess in a control group.
func serverProcessIn(t *testing.T, g *testcmdtest.Group, state, kind string) (*exec.Cmd, []int) {
	t.Helper()
	cmd := g.Command(t, "^TestHelperServer$")
	cmd.Args = cmd.Args[:2] // it prints nothing of its own
	return startServer(t, cmd, state, kind)
}

func startServer(t *testing.T, cmd *exec.Cmd, state, kind string) (*exec.Cmd, []int) {
	t.Helper()
	cmd.Env = append(os.Environ(), "TIPSTAFF_TEST_STATE="+state, "TIPSTAFF_TEST_KIND="+kind, "TIPSTAFF_TEST_CMD="+testcmdtest.Build(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	return cmd, pidsFrom(t, out, 2)
}

// TestHelperServer is the server of serverProcess: it prints the process ids of
// a daemon and of a sleeper, and serves until its input ends.
func TestHelperServer(t *testing.T) {
	state := os.Getenv("TIPSTAFF_TEST_STATE")
	if state == "" {
		t.Skip("it is run by another test")
	}
	e, err := NewEngine(Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("TIPSTAFF_TEST_KIND") == "marks" && e.cgroups != nil {
		_ = e.cgroups.close()
		e.cgroups = nil
	}
	dir, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	var confine *Enclosure
	if os.Getenv("TIPSTAFF_TEST_KIND") == "bounded" {
		n, err := e.NewEnclosure(EnclosureSpec{Group: GroupLimits{MemoryBytes: 1 << 30, Processes: 100}})
		if err != nil {
			t.Fatal(err)
		}
		confine = n
	}
	start := func(path string, argv ...string) {
		if _, err := e.Start(Launch{Path: path, Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir.Fd(), Stdout: os.Stdout, Confine: confine}); err != nil {
			t.Fatal(err)
		}
	}
	start(os.Getenv("TIPSTAFF_TEST_CMD"), "testcmd", "daemon", "keep")
	start("/bin/sh", "sh", "-c", "setsid sleep 60 & echo $!; wait")
	_, _ = io.Copy(io.Discard, os.Stdin)
	e.live.Range(func(_, p any) bool { p.(*Process).End(0); return true })
	for _, pid := range tagged(func(one descendantTag) bool { return one.of(e.tag) }) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	_ = e.Close()
	os.Exit(0)
}

func TestTheControlGroupOfADeadServerIsRemovedAndThatOfALivingOneIsNot(t *testing.T) {
	living, err := NewEngine(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	if living.cgroups == nil {
		t.Skip("no control group can be made here: ", living.noCgroups)
	}
	dead := filepath.Join(filepath.Dir(living.cgroups.base), cgroupPrefix+"0000000000")
	if err := os.MkdirAll(filepath.Join(dead, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	next, err := NewEngine(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the control group of a dead server is left: %v", err)
		_ = removeCgroup(dead)
	}
	if p, _ := spawn(t, living, "testcmd", "exit", "3"); p.Status().ExitCode != 3 {
		t.Error("the living server has lost its own")
	}
}
