//go:build linux && (amd64 || arm64)

package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// boundEngine is an engine that can bound commands.
func boundEngine(t *testing.T) *Engine {
	t.Helper()
	e := newEngine(t)
	if b := e.Bounds(); !b.Memory || !b.Processes || b.Reason != "" {
		t.Fatalf("the engine cannot bound: %+v", b)
	}
	return e
}

// bound makes an enclosure with limits, in the namespaces of spec or in none.
func bound(t *testing.T, e *Engine, l GroupLimits, spec *NamespaceSpec) *Enclosure {
	t.Helper()
	n, err := e.NewEnclosure(EnclosureSpec{Namespaces: spec, Group: l})
	var at *StepError
	if spec != nil && errors.As(err, &at) {
		t.Skip("no namespaces here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	confinements.Store(e, n)
	t.Cleanup(func() { confinements.Delete(e); n.Close() })
	return n
}

// inEachTier runs a test with commands in the server's namespaces and in their own.
func inEachTier(t *testing.T, test func(t *testing.T, e *Engine, spec *NamespaceSpec)) {
	t.Helper()
	for name, spec := range map[string]*NamespaceSpec{"outside": nil, "namespaces": {
		OwnNetwork: true, Mounts: []Mount{{Path: "/dev/shm", Bytes: 256 << 20, Mode: 0o1777}},
	}} {
		t.Run(name, func(t *testing.T) { test(t, boundEngine(t), spec) })
	}
}

// run runs a shell script and tells how it ended, and what it printed.
func run(t *testing.T, e *Engine, script string) (Status, string) {
	t.Helper()
	p, out := spawn(t, e, "sh", "-c", script)
	text, _ := io.ReadAll(out)
	p.Status()
	p.End(0)
	return p.Status(), string(text)
}

const (
	mib = 1 << 20
	// eat fills more memory than any limit here; the shell's own is the least of it.
	eat = "head -c 300000000 /dev/zero | tail > /dev/null"
)

func TestAnotherUsersServerBoundsCommandsAsWell(t *testing.T) {
	if !testcmdtest.RunAlone(t, testcmdtest.GiveTo(t, 1000)) {
		return
	}
	if os.Geteuid() == 0 {
		t.Fatal("it is root")
	}
	inEachTier(t, func(t *testing.T, e *Engine, spec *NamespaceSpec) {
		bound(t, e, GroupLimits{MemoryBytes: 32 * mib, Processes: 30}, spec)
		if st, text := run(t, e, eat+"; echo on"); !st.Usage.OutOfMemory || text != "" {
			t.Errorf("%+v, %q", st, text)
		}
		if st, text := run(t, e, "echo ran"); st.ExitCode != 0 || text != "ran\n" {
			t.Errorf("the next one: %+v, %q", st, text)
		}
	})
}

func TestACommandThatUsesUpItsMemoryIsEndedWhole(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	inEachTier(t, func(t *testing.T, e *Engine, spec *NamespaceSpec) {
		n := bound(t, e, GroupLimits{MemoryBytes: 64 * mib}, spec)
		other, _ := spawn(t, e, "sleep", "60")
		p, out := spawn(t, e, "sh", "-c", "setsid sleep 60 & echo $!; read x < /dev/null; "+eat+"; echo on; sleep 60")
		pids := outside(t, p, pidsFrom(t, out, 1))
		instance, zygote := p.instance, p.instance.zygote.pid
		st := p.Status()
		text, _ := io.ReadAll(out)
		if st.SignalName != "SIGKILL" || len(text) > 0 {
			t.Errorf("it ended as %+v and went on to print %q", st, text)
		}
		p.End(10 * time.Second) // the kernel has ended it; force would also end the instance
		wantNone(t, pids)
		u := p.Status().Usage
		if !u.OutOfMemory || u.PeakBytes > 64*mib || u.PeakBytes < 60*mib {
			t.Errorf("it is told as %+v", u)
		}
		if !running(zygote) || !running(other.PID()) {
			t.Error("something else was ended")
		}
		n.work.Wait()
		again := 0
		for range 2 * (len(n.ready) + 1) { // they come round
			p, out = spawn(t, e, "sh", "-c", "echo ran")
			text, _ = io.ReadAll(out)
			p.Status()
			p.End(0)
			if p.instance == instance {
				again++
			}
			if st := p.Status(); string(text) != "ran\n" || st.Usage.OutOfMemory || st.Usage.PeakBytes > 32*mib {
				t.Errorf("the next one, in the same instance %v: %+v, %q", p.instance == instance, st, text)
			}
		}
		if again == 0 {
			t.Error("the instance was not used again")
		}
	})
}

func TestALimitTooSmallForAProgramHarmsNobodyElse(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	root, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// Arguments are on the account of the group before it is another program.
	long := []string{"sh", "-c", "exit"}
	for range 14 {
		long = append(long, strings.Repeat("x", 128_000))
	}
	inEachTier(t, func(t *testing.T, e *Engine, spec *NamespaceSpec) {
		for _, limit := range []int64{1, 4096, 64 << 10, 256 << 10, mib, 4 * mib} {
			n, err := e.NewEnclosure(EnclosureSpec{Namespaces: spec, Group: GroupLimits{MemoryBytes: limit, Processes: 1}})
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				for _, argv := range [][]string{{"sh", "-c", "echo; " + eat}, long} {
					p, err := e.Start(Launch{Path: "/bin/sh", Argv: argv, Dir: root.Fd(), DirPath: "/", Confine: n})
					if err == nil {
						p.Status()
						p.End(0)
					}
					var at *StepError
					if limit <= mib && len(argv) == len(long) && !errors.As(err, &at) {
						t.Errorf("with %d bytes it has arguments of two million: %v", limit, err)
					}
				}
			}
			n.Close()
		}
		bound(t, e, GroupLimits{MemoryBytes: 64 * mib}, spec)
		if st, text := run(t, e, "echo ran"); st.ExitCode != 0 || text != "ran\n" {
			t.Errorf("%+v, %q", st, text)
		}
	})
}

func TestTheProcessesOfACommandAreBounded(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	const bomb = "i=0; while [ $i -lt 500 ]; do sleep 60 > /dev/null 2>&1 & i=$((i+1)); done; echo all"
	inEachTier(t, func(t *testing.T, e *Engine, spec *NamespaceSpec) {
		bound(t, e, GroupLimits{Processes: 50}, spec)
		other, _ := spawn(t, e, "sleep", "60")
		st, text := run(t, e, bomb)
		if strings.Contains(text, "all") || st.Usage.RefusedProcesses == 0 || st.Usage.OutOfMemory {
			t.Errorf("%+v, %q", st, text)
		}
		if st, text := run(t, e, "sleep 0 & wait; echo ran"); text != "ran\n" || st.Usage.RefusedProcesses != 0 {
			t.Errorf("the next one: %+v, %q", st, text)
		}
		if !running(other.PID()) {
			t.Error("another command was ended")
		}
	})
}

// TestAGroupWithBoundsIsEmptyBetweenCommands: a process that waited there for the
// next command would share the server's memory, and the kernel would end both.
func TestAGroupWithBoundsIsEmptyBetweenCommands(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	inEachTier(t, func(t *testing.T, e *Engine, spec *NamespaceSpec) {
		for _, l := range []GroupLimits{{MemoryBytes: 64 * mib}, {MemoryBytes: 64 * mib, Processes: 20}, {Processes: 20}} {
			n := bound(t, e, l, spec)
			for range 5 {
				if st, text := run(t, e, "echo ran; cat /proc/self/cgroup"); !strings.HasPrefix(text, "ran\n") {
					t.Errorf("%+v: %+v, %q", l, st, text)
				}
			}
			n.work.Wait()
			i, err := n.take()
			if err != nil {
				t.Fatal(err)
			}
			if members := i.cgroup.members(); len(members) != 0 {
				t.Errorf("%+v: in the group are %v", l, members)
			}
			n.work.Go(i.end)
		}
	})
}

func TestNoCommandHasTheBoundsOfAnother(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	e := boundEngine(t)
	for range 3 {
		for _, l := range []GroupLimits{{MemoryBytes: 64 * mib}, {}, {MemoryBytes: 96 * mib, Processes: 7}, {Processes: 9}} {
			n, err := e.NewEnclosure(EnclosureSpec{Group: l})
			if err != nil {
				t.Fatal(err)
			}
			confinements.Store(e, n)
			for range 2 {
				p, _ := spawn(t, e, "sleep", "60")
				for file, limit := range map[string]int64{"memory.max": l.MemoryBytes, "pids.max": int64(l.Processes)} {
					want := "max"
					if limit > 0 {
						want = strconv.FormatInt(limit, 10)
					}
					if got, err := os.ReadFile(filepath.Join(p.instance.cgroup.path, file)); err != nil || strings.TrimSpace(string(got)) != want {
						t.Errorf("%+v: %s is %q, %v", l, file, got, err)
					}
				}
				if l.isSet() == slices.Contains(p.instance.cgroup.members(), p.instance.zygote.pid) {
					t.Errorf("%+v: the group has %v, the zygote is %d", l, p.instance.cgroup.members(), p.instance.zygote.pid)
				}
				p.End(0)
			}
			confinements.Delete(e)
			n.Close()
		}
	}
}

func TestFilesInMemoryAreNoBurdenToTheNextCommand(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	inEachTier(t, func(t *testing.T, e *Engine, spec *NamespaceSpec) {
		if spec == nil {
			t.Skip("there the files are the machine's")
		}
		n := bound(t, e, GroupLimits{MemoryBytes: 64 * mib}, spec)
		write := "head -c 40000000 /dev/zero > /dev/shm/"
		for _, name := range []string{"a", "b", "c"} {
			if st, text := run(t, e, write+name+" && echo ran"); text != "ran\n" {
				t.Errorf("%s: %+v, %q", name, st, text)
			}
		}
		if st, text := run(t, e, write+"d; "+write+"e; echo on"); !st.Usage.OutOfMemory || text != "" {
			t.Errorf("more than it may have: %+v, %q", st, text)
		}
		n.work.Wait()
	})
}

func TestManyBoundedCommandsLeaveNoGroups(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	inEachTier(t, func(t *testing.T, e *Engine, spec *NamespaceSpec) {
		n := bound(t, e, GroupLimits{MemoryBytes: 64 * mib, Processes: 20}, spec)
		before := countFDs(t)
		for range 200 {
			p, _ := spawn(t, e, "true")
			p.Status()
			p.End(0)
		}
		n.work.Wait()
		if after := countFDs(t); after > before+200+20 { // a test keeps its pipes until its end
			t.Errorf("%d descriptors became %d", before, after)
		}
		if groups := len(groupsIn(t, e.cgroups.base)); groups > 1+len(n.ready)+len(e.cgroups.free) { // with that of zygotes
			t.Errorf("there are %d groups for %d instances", groups, len(n.ready))
		}
		n.Close()
		if groups := groupsIn(t, e.cgroups.base); len(groups) != 1+len(e.cgroups.free) {
			t.Errorf("afterwards there are %v", groups)
		}
	})
}

func groupsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

func TestWithoutClone3NothingIsBounded(t *testing.T) {
	if !testcmdtest.RunAlone(t) {
		return
	}
	e := boundEngine(t)
	e.clone.Store(&cloner{legacy: true})
	if b := e.Bounds(); b.Memory || b.Processes || !strings.Contains(b.Reason, "clone3") {
		t.Errorf("%+v", b)
	}
	if _, err := e.NewEnclosure(EnclosureSpec{Group: GroupLimits{Processes: 1}}); err == nil {
		t.Error("there is an enclosure with bounds")
	}
}

// TestAnEngineThatBoundsKeepsAllPromises runs tests of every kind of engine
// where there are two kinds more (kinds_test.go).
func TestAnEngineThatBoundsKeepsAllPromises(t *testing.T) {
	if testcmdtest.Alone() {
		t.Skip("it has been run already")
	}
	g := testcmdtest.NewGroup(t)
	out, err := g.Command(t, "^(TestEveryKindOfEngineStartsAndTellsTheEnd|TestTheChildStartsWithACleanSlate|TestOnlyTheStandardStreamsAreOpenHoweverManyTheServerHas|"+
		"TestT6NothingThatACommandStartsSurvivesIt|TestEndDoesNotTouchOtherCommands|TestEveryStepThatFailsIsNamed)$/^bounded").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("/bounded_memory,_namespaces (")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestBoundedSurvivorsOfAKilledServerAreEndedByTheNext(t *testing.T) {
	g := testcmdtest.NewGroup(t)
	state := t.TempDir()
	dead, pids := serverProcessIn(t, g, state, "bounded")
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if len(groupsIn(t, g.Dir)) != 2 {
		t.Fatalf("the killed server has left %v", groupsIn(t, g.Dir))
	}
	e, err := NewEngine(Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	wantNone(t, pids)
	if left := groupsIn(t, g.Dir); len(left) != 1 || left[0] != serverGroup {
		t.Errorf("groups are left: %v", left)
	}
	// The next server in the same control group removes the directory of a dead
	// server there, and does not take the servers' own group for one.
	if err := os.MkdirAll(filepath.Join(g.Dir, cgroupPrefix+"0000000000", "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	removeDead(g.Dir)
	if left := groupsIn(t, g.Dir); len(left) != 1 || left[0] != serverGroup {
		t.Errorf("after removing what dead servers left: %v", left)
	}
}
