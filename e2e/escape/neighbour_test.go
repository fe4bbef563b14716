//go:build linux && !race

package escape

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// neighbour is a command that runs while others try to reach it. It has made a
// file in its temporary directory.
type neighbour struct {
	pid  int // as seen by this test
	temp string
}

// moveIn starts a neighbour, by a call or in a session of its own, and waits
// until it blocks signals, so that the kernel keeps them pending.
func moveIn(t *testing.T, w *world, session string) *neighbour {
	t.Helper()
	m := kit.NewMark(t)
	s := w.On(t)
	script := fmt.Sprintf(`echo %s > $TMPDIR/said && echo $TMPDIR > temp-%s && exec testcmd deaf sleep 50`, strings.TrimSpace(secret), m)
	w.put(t, "ws/neighbour-"+string(m)+".sh", script)
	w.own(t)
	call := &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{"file": "sh", "args": m.InEnvironment(script), "timeout_ms": 60_000}}
	if session != "" {
		call = &mcp.CallToolParams{Name: "terminal_execute_command", Arguments: kit.Args{
			"sessionId": session, "command": "sh", "args": []string{"neighbour-" + string(m) + ".sh"}, "timeout": 60_000,
		}}
	}
	go func() { _, _ = s.Session.CallTool(t.Context(), call) }() // it ends with the test
	n := &neighbour{}
	temp := filepath.Join(w.Workspace, "temp-"+string(m))
	kit.Eventually(t, "the neighbour is there", func() bool {
		text, err := os.ReadFile(temp)
		n.temp = strings.TrimSpace(string(text))
		n.pid = sleeperOf(w.Cmd.Process.Pid)
		return err == nil && n.temp != "" && n.pid != 0
	})
	return n
}

// sleeperOf finds a program sleep below a process that blocks signals.
func sleeperOf(parent int) int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks {
		data, _ := os.ReadFile(task)
		for field := range strings.FieldsSeq(string(data)) {
			pid, _ := strconv.Atoi(field)
			stat, _ := os.ReadFile("/proc/" + field + "/stat")
			if strings.Contains(string(stat), "(sleep) S ") {
				return pid
			}
			if below := sleeperOf(pid); below != 0 {
				return below
			}
		}
	}
	return 0
}

func TestEscapeE68CommandsAtTheSameTimeDoNotReachEachOther(t *testing.T) {
	testcmdtest.Long(t)
	t.Parallel()
	for says, together := range map[string]bool{"E68 two calls": true, "E68 two sessions": false} {
		t.Run(says, func(t *testing.T) {
			everywhere(t, habitat{env: []string{"TMPDIR={dir}/tmp"}, furnish: withTemp}, func(t *testing.T, w *world) { neighbours(t, w, together) })
		})
	}
}

func withTemp(t *testing.T, w *world) {
	if err := os.Mkdir(w.path("tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// neighbours tries every attempt on a neighbour, from a call without a session
// like its own, or from another session.
func neighbours(t *testing.T, w *world, together bool) {
	s := w.On(t)
	first, second := "", ""
	if !together {
		first, second = s.NewSession(), s.NewSession(kit.Args{"taskId": "T-2"})
	}
	n := moveIn(t, w, first)
	do := func(try string) outcome {
		t.Helper()
		argv := append([]string{"attempt"}, strings.Fields(try)...)
		if together {
			return outcomeOf(t, s.Process("testcmd", argv))
		}
		return outcomeOfSession(t, s.InSession(second, "testcmd", argv))
	}
	free := w.tier == kit.None
	p := fmt.Sprint(n.pid)
	for try, seen := range map[string]bool{
		"see " + p: w.tier == kit.Landlock, "read /proc/" + p + "/environ": false, "readlink /proc/" + p + "/fd/0": false, "open-read /proc/" + p + "/mem": false,
		"kill " + p + " 10": false, "tgkill " + p + " 10": false, "pidfd-kill " + p + " 10": false, "prlimit " + p: false,
		"pidfd-getfd " + p + " 0": false, "kcmp " + p: false, "vm-read " + p + " " + addressIn(t, n.pid): false,
	} {
		if o := do(try); o.OK != (free || seen) {
			t.Errorf("%s: %+v", try, o)
		}
	}
	if o := do("own " + p + " 12"); free && !o.OK {
		t.Errorf("own: %+v", o)
	}
	do("kill-all " + w.harmless())
	sent := pendingFor(t, n.pid)
	if !free {
		sent &^= straySignals
	}
	if (sent != 0) != free {
		t.Errorf("the neighbour was sent the signals %#x", sent)
	}
	if said, shared := do("read "+n.temp+"/said"), together || free; (said.Got == secret) != shared {
		t.Errorf("the temporary files of the neighbour: %+v", said)
	}
	if o, shared := do("create "+n.temp+"/new"), together || free; o.OK != shared && w.tier != kit.Namespaces {
		t.Errorf("a file among them: %+v", o)
	}
	if o := do("ptrace " + p); o.OK != free {
		t.Errorf("ptrace: %+v", o)
	}
	_ = syscall.Kill(n.pid, syscall.SIGKILL)
}

// TestEscapeE68SessionSandboxesAreOutOfReach: a command that works in the directory where
// the server keeps the files of session sandboxes, or above it, can reach
// neither those of other sessions nor those prepared for the next ones.
func TestEscapeE68SessionSandboxesAreOutOfReach(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{}, func(t *testing.T, w *world) {
		s := w.On(t)
		if w.tier == kit.None {
			w.put(t, "state/tmp/tipstaff-control/lock", "")
			w.own(t)
		}
		dirs, _ := filepath.Glob(w.path("state/tmp/tipstaff-*"))
		if len(dirs) != 1 {
			t.Fatalf("session sandboxes are elsewhere than in %v: nothing is shown", dirs)
		}
		for _, dir := range dirs {
			for _, try := range []string{"create " + dir + "/gotcha", "mkdir " + dir + "/99", "append " + dir + "/lock", "rename " + dir + " " + dir + "2"} {
				for _, cwd := range []string{"", "state", "state/tmp"} {
					argv := append([]string{"attempt"}, strings.Fields(try)...)
					r := s.Process("testcmd", argv, kit.Args{"cwd": w.path(cwd)})
					_ = os.Remove(dir + "/gotcha")
					_ = os.Remove(dir + "/99")
					_ = os.Rename(dir+"2", dir)
					if ok := !r.IsError && outcomeOf(t, r).OK; ok != (w.tier == kit.None) {
						t.Errorf("from %q: %s:\n%s", cwd, try, r.Text)
					}
				}
			}
		}
	})
}

// TestEscapeE22ACommandThatWasLentACredentialIsNotTraced: neither by a command of the same
// session that was lent none, nor by one that was lent the same and shares its sandbox.
// That such a command traces what it has started itself is the control.
func TestEscapeE22ACommandThatWasLentACredentialIsNotTraced(t *testing.T) {
	t.Parallel()
	policy := "version: 1\ncommands:\n  testcmd: {allow: [\"*\"]}\n  \"true\": {allow: [\"*\"]}\n  sh: {allow: [{rule: \"*\", credentials: [npm]}]}\n"
	h := habitat{env: []string{"TIPSTAFF_CONFIG={dir}/home/policy.yaml", "ALLOWED_COMMANDS=", "TMPDIR={dir}/tmp"}, noControl: true, furnish: func(t *testing.T, w *world) {
		withTemp(t, w)
		w.put(t, "home/policy.yaml", policy)
		w.put(t, "home/.npmrc", secret)
	}}
	everywhere(t, h, func(t *testing.T, w *world) {
		n := moveIn(t, w, "")
		p := fmt.Sprint(n.pid)
		lent := func(try string) outcome {
			return outcomeOf(t, w.On(t).Process("sh", []string{"-c", "exec testcmd attempt " + try}))
		}
		free := func(try string) outcome {
			return outcomeOf(t, w.On(t).Process("testcmd", append([]string{"attempt"}, strings.Fields(try)...)))
		}
		for _, try := range []string{
			"ptrace " + p, "vm-read " + p + " " + addressIn(t, n.pid), "vm-write " + p + " " + addressIn(t, n.pid), "pidfd-getfd " + p + " 0", "kcmp " + p,
			"open-read /proc/" + p + "/mem", "read /proc/" + p + "/environ", "readlink /proc/" + p + "/fd/0",
		} {
			for who, do := range map[string]func(string) outcome{"lent the same": lent, "lent nothing": free} {
				if o := do(try); o.OK {
					t.Errorf("%s, %s: %+v", try, who, o)
				}
			}
		}
		if o := lent("read " + w.path("home", ".npmrc")); o.Got != secret {
			t.Errorf("nothing was lent: %+v", o)
		}
		if o := free("read " + w.path("home", ".npmrc")); o.OK {
			t.Errorf("it was lent to all: %+v", o)
		}
		for who, do := range map[string]func(string) outcome{"lent the same": lent, "lent nothing": free} {
			if o := do("trace-own"); !o.OK {
				t.Errorf("trace-own, %s: %+v", who, o)
			}
		}
		_ = syscall.Kill(n.pid, syscall.SIGKILL)
	})
}
