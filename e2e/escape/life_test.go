//go:build linux && !race

package escape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// soon is when the processes that a command leaves must have ended, on a busy
// machine. Otherwise they would live longer.
const soon = 20 * time.Second

// TestEscapeE50ACommandHasThreeDescriptors starts servers that inherit more.
func TestEscapeE50ACommandHasThreeDescriptors(t *testing.T) {
	t.Parallel()
	leak, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leak.Close() })
	open := func(out []byte) []string {
		var fds map[string]string
		if err := json.Unmarshal(out, &fds); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var numbers []string
		for n := range fds {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		return numbers
	}
	everywhere(t, habitat{inherited: []*os.File{leak, leak, leak}}, func(t *testing.T, w *world) {
		if w.tier == kit.None {
			c := exec.Command(ground(t)+"/bin/testcmd", "fds")
			c.ExtraFiles, c.SysProcAttr = []*os.File{leak, leak, leak}, kit.As(w.uid)
			out, err := c.Output()
			if err != nil || !slices.Contains(open(out), "5") {
				t.Fatalf("what a server is given does not get to what it starts in the plain way: %v %s", err, out)
			}
		}
		got := open([]byte(w.On(t).Process("testcmd", []string{"fds"}).Ran().Stdout))
		if !slices.Equal(got, []string{"0", "1", "2"}) {
			t.Errorf("a command has the descriptors %v", got)
		}
		id := w.On(t).NewSession()
		got = open([]byte(w.On(t).InSession(id, "testcmd", []string{"fds"}).JSON().Stdout))
		if !slices.Equal(got, []string{"0", "1", "2"}) {
			t.Errorf("one of a session has %v", got)
		}
	})
}

// TestEscapeE51AndE52NothingOutlivesItsEnd: neither a family that left in all
// directions, after a timeout, nor one that keeps multiplying, after its caller
// has left. The control: they were alive before.
func TestEscapeE51AndE52NothingOutlivesItsEnd(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{noControl: true}, func(t *testing.T, w *world) {
		t.Run("E51 a family that leaves its session", func(t *testing.T) {
			m := kit.NewMark(t)
			s := w.On(t)
			s.House()
			w.own(t)
			answer := make(chan kit.Reply, 1)
			go func() { answer <- s.Process("sh", m.InEnvironment(kit.Family), kit.Args{"timeout_ms": 20_000}) }()
			m.WantHolders(t, kit.Members)
			<-answer
			m.WantNone(t, soon)
			s.Command("echo still here").Ran()
		})
		t.Run("E52 a family that multiplies", func(t *testing.T) {
			m := kit.NewMark(t)
			w.put(t, "ws/bomb.sh", bomb)
			w.own(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := w.Session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{
					"file": "sh", "args": m.InEnvironment("exec sh bomb.sh 0 7"),
				}})
				ended <- err
			}()
			wantAtLeast(t, m, 150)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the bomb ended with %v", err)
			}
			m.WantNone(t, soon)
			for range 5 {
				w.On(t).Command("echo still here").Ran()
			}
		})
	})
}

// bomb starts two copies of itself, in sessions of their own and ignoring
// polite signals, up to a depth: 255 in all, of which half then keep making
// short-lived ones. It ends by itself.
const bomb = `trap '' TERM HUP INT
if [ $1 -lt $2 ]; then
	setsid sh bomb.sh $(($1 + 1)) $2 &
	setsid sh bomb.sh $(($1 + 1)) $2 &
	wait
	exec sleep 50
fi
n=0
while [ $n -lt 40 ]; do setsid sleep 1; n=$((n + 1)); done
`

// wantAtLeast waits until enough processes with the mark run.
func wantAtLeast(t *testing.T, m kit.Mark, n int) {
	t.Helper()
	kit.Eventually(t, fmt.Sprintf("%d processes with the mark", n), func() bool { return len(m.Holders(t)) >= n })
}

// TestEscapeE51AChildOfTheServersOwnIsEnded: a command can make the server, its
// parent, the parent of another process as well (CLONE_PARENT). That process,
// if it can be made at all, is ended with the command and does not stay as a
// zombie.
func TestEscapeE51AChildOfTheServersOwnIsEnded(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{}, func(t *testing.T, w *world) {
		m := kit.NewMark(t)
		for _, seconds := range []string{"50", "50", "0", "0"} {
			o := outcomeOf(t, w.On(t).Process("sh", m.InEnvironment("exec testcmd attempt sibling "+seconds)))
			if !o.OK && (w.tier == kit.None || o.Errno != "EPERM") {
				t.Fatalf("no such child can be made: %+v", o)
			}
			if m.WantNone(t, soon); t.Failed() {
				return
			}
		}
		kit.Eventually(t, "the server has no zombies", func() bool {
			w.On(t).Command("echo still here").Ran() // the server looks for them now and then, while it has work
			return w.holdings(t)["zombies"] == 0
		}, func() string { return fmt.Sprint(w.holdings(t)) })
	})
}

// TestEscapeE53NothingOutlivesTheServer kills the server. With namespaces
// everything ends with it; without, processes that have left their parents stay
// until the next server with the same state directory.
func TestEscapeE53NothingOutlivesTheServer(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{noControl: true}, func(t *testing.T, w *world) {
		m := kit.NewMark(t)
		s := w.On(t)
		s.House()
		w.own(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, _ = s.Session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{
				"file": "sh", "args": m.InEnvironment(kit.Family), "timeout_ms": 30_000,
			}})
		}()
		m.WantHolders(t, kit.Members)
		if err := w.Cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if w.tier == kit.Namespaces {
			m.WantNone(t, soon)
			return
		}
		if !kit.Gone(w.Cmd.Process.Pid, kit.Patience) {
			t.Fatal("the server lives")
		}
		if len(m.Holders(t)) == 0 {
			t.Fatal("nobody has outlived the server: nothing is shown")
		}
		next := exec.Command(w.path("bin/tipstaff"), "run", "--", "true")
		next.Dir, next.Env, next.SysProcAttr = w.Workspace, w.Cmd.Env, kit.As(w.uid)
		if out, err := next.CombinedOutput(); err != nil {
			t.Fatalf("the next server: %v\n%s", err, out)
		}
		m.WantNone(t, soon)
	})
}

// TestEscapeE57AndE61ACommandStartsCleanAndItsEndIsExact in all worlds: the
// sandbox does not change this.
func TestEscapeE57AndE61ACommandStartsCleanAndItsEndIsExact(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{}, func(t *testing.T, w *world) {
		s := w.On(t)
		if b := s.Process("cat", nil).Ran(); b.Stdout != "" {
			t.Errorf("E57 standard input has %q", b.Stdout)
		}
		if text := s.Process("cat", []string{"/proc/self/status"}).Ran().Stdout; !clean(text, "SigIgn") || !clean(text, "SigBlk") {
			t.Errorf("E57 a command starts with signals ignored or blocked:\n%s", text)
		}
		if b := s.Process("sh", []string{"-c", "testcmd flood 1000000 | head -c 10 >/dev/null; echo well"}).Ran(); !strings.Contains(b.Stdout, "well") {
			t.Errorf("E57 a pipe that nobody reads: %+v", b)
		}
		for _, code := range []int{0, 1, 2, 42, 126, 255} {
			if b := s.Process("testcmd", []string{"exit", fmt.Sprint(code)}).YAML(); b.ExitCode != code || b.Signal != "" {
				t.Errorf("E61 exit %d: %+v", code, b)
			}
		}
		for name, number := range map[string]int{
			"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "SEGV": 11, "PIPE": 13, "ALRM": 14, "TERM": 15,
		} {
			if b := s.Process("testcmd", []string{"signal", name}).YAML(); b.Signal != "SIG"+name || b.ExitCode != 128+number {
				t.Errorf("E61 SIG%s: %+v", name, b)
			}
		}
		if cores, _ := filepath.Glob(filepath.Join(w.Workspace, "core*")); len(cores) > 0 {
			t.Errorf("E61 a core file was left: %v", cores)
		}
	})
}

// clean reports whether a set of signals of /proc/PID/status is empty; see
// proc_pid_status(5).
func clean(status, set string) bool {
	return strings.Contains(status, set+":\t0000000000000000")
}
