//go:build escape && linux

package e2e

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

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// confinedOnly are the worlds that have a sandbox: for tests whose control is
// of another kind.
func confinedOnly(worlds []*world) []*world {
	return slices.DeleteFunc(worlds, func(w *world) bool { return w.tier == notConfined })
}

// TestEscapeE50ACommandHasThreeDescriptors starts servers that were given more.
func TestEscapeE50ACommandHasThreeDescriptors(t *testing.T) {
	leak, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
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
	for _, w := range everywhere(t, habitat{inherited: []*os.File{leak, leak, leak}}) {
		t.Run(w.String(), func(t *testing.T) {
			if w.tier == notConfined {
				c := exec.Command(ground(t)+"/bin/testcmd", "fds")
				c.ExtraFiles, c.SysProcAttr = []*os.File{leak, leak, leak}, as(w.uid)
				out, err := c.Output()
				if err != nil || !slices.Contains(open(out), "5") {
					t.Fatalf("what a server is given does not get to what it starts in the plain way: %v %s", err, out)
				}
			}
			got := open([]byte(w.on(t).process("testcmd", []string{"fds"}).ran().Stdout))
			if !slices.Equal(got, []string{"0", "1", "2"}) {
				t.Errorf("a command has the descriptors %v", got)
			}
			id := w.on(t).newSession()
			got = open([]byte(w.on(t).inSession(id, "testcmd", []string{"fds"}).json().Stdout))
			if !slices.Equal(got, []string{"0", "1", "2"}) {
				t.Errorf("one of a session has %v", got)
			}
		})
	}
}

// TestEscapeE51AndE52NothingOutlivesItsEnd: not a family that went in all
// directions, after a timeout, nor one that goes on multiplying, after its
// caller has left. Before, they live, which is the control.
func TestEscapeE51AndE52NothingOutlivesItsEnd(t *testing.T) {
	for _, w := range confinedOnly(everywhere(t, habitat{})) {
		t.Run("E51 a family that leaves its session/"+w.String(), func(t *testing.T) {
			t.Parallel()
			m := newMark(t)
			s := w.on(t)
			s.house()
			w.own(t)
			answer := make(chan reply, 1)
			go func() { answer <- s.process("sh", m.inEnvironment(family), args{"timeout_ms": 8000}) }()
			m.wantHolders(t, members)
			<-answer
			m.wantNone(t, soon)
			s.command("echo still here").ran()
		})
		t.Run("E52 a family that multiplies/"+w.String(), func(t *testing.T) {
			m := newMark(t)
			w.put(t, "ws/bomb.sh", bomb)
			w.own(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := w.session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_process", Arguments: args{
					"file": "sh", "args": m.inEnvironment("exec sh bomb.sh 0 7"),
				}})
				ended <- err
			}()
			m.wantAtLeast(t, 150)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the bomb ended with %v", err)
			}
			m.wantNone(t, soon)
			for range 5 {
				w.on(t).command("echo still here").ran()
			}
		})
	}
}

// bomb makes two of itself, in sessions of their own and deaf to polite
// signals, until it is deep enough: 255 in all, of which half then go on making
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
func (m mark) wantAtLeast(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d processes with the mark", n), func() bool { return len(m.holders(t)) >= n })
}

// TestEscapeE51AChildOfTheServersOwnIsEnded: a command can make its parent, the
// server, the parent of another process as well (CLONE_PARENT). That is ended
// with the command, if it can be made at all, and does not stay as a zombie.
func TestEscapeE51AChildOfTheServersOwnIsEnded(t *testing.T) {
	for _, w := range everywhere(t, habitat{}) {
		t.Run("E51 "+w.String(), func(t *testing.T) {
			m := newMark(t)
			for _, seconds := range []string{"50", "50", "0", "0"} {
				o := outcomeOf(t, w.on(t).process("sh", m.inEnvironment("exec testcmd attempt sibling "+seconds)))
				if !o.OK && (w.tier == notConfined || o.Errno != "EPERM") {
					t.Fatalf("no such child can be made: %+v", o)
				}
				m.wantNone(t, soon)
			}
			eventually(t, "the server has no zombies", func() bool {
				w.on(t).command("echo still here").ran() // it looks for them now and then, while there is something to do
				return w.holdings(t)["zombies"] == 0
			}, func() string { return fmt.Sprint(w.holdings(t)) })
		})
	}
}

// TestEscapeE53NothingOutlivesTheServer kills it. In the namespaces everything
// goes with it; without, what has left its parents stays until the next server
// with the same state directory.
func TestEscapeE53NothingOutlivesTheServer(t *testing.T) {
	for _, w := range confinedOnly(everywhere(t, habitat{})) {
		t.Run(w.String(), func(t *testing.T) {
			m := newMark(t)
			s := w.on(t)
			s.house()
			w.own(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				_, _ = s.session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_process", Arguments: args{
					"file": "sh", "args": m.inEnvironment(family), "timeout_ms": 30_000,
				}})
			}()
			m.wantHolders(t, members)
			if err := w.cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if w.tier == inNamespaces {
				m.wantNone(t, soon)
				return
			}
			if !gone(w.cmd.Process.Pid, soon) {
				t.Fatal("the server lives")
			}
			if len(m.holders(t)) == 0 {
				t.Fatal("nobody has outlived the server: nothing is shown")
			}
			next := exec.Command(w.path("bin/tipstaff"), "run", "--", "true")
			next.Dir, next.Env, next.SysProcAttr = w.workspace, w.cmd.Env, as(w.uid)
			if out, err := next.CombinedOutput(); err != nil {
				t.Fatalf("the next server: %v\n%s", err, out)
			}
			m.wantNone(t, soon)
		})
	}
}

// TestEscapeE57AndE61ACommandStartsCleanAndItsEndIsExact is the same in all
// worlds: the sandbox changes nothing about it.
func TestEscapeE57AndE61ACommandStartsCleanAndItsEndIsExact(t *testing.T) {
	for _, w := range everywhere(t, habitat{}) {
		t.Run(w.String(), func(t *testing.T) {
			s := w.on(t)
			if b := s.process("cat", nil).ran(); b.Stdout != "" {
				t.Errorf("E57 standard input has %q", b.Stdout)
			}
			if text := s.process("cat", []string{"/proc/self/status"}).ran().Stdout; !clean(text, "SigIgn") || !clean(text, "SigBlk") {
				t.Errorf("E57 a command starts with signals ignored or blocked:\n%s", text)
			}
			if b := s.process("sh", []string{"-c", "testcmd flood 1000000 | head -c 10 >/dev/null; echo well"}).ran(); !strings.Contains(b.Stdout, "well") {
				t.Errorf("E57 a pipe that nobody reads: %+v", b)
			}
			for _, code := range []int{0, 1, 2, 42, 126, 255} {
				if b := s.process("testcmd", []string{"exit", fmt.Sprint(code)}).yaml(); b.ExitCode != code || b.Signal != "" {
					t.Errorf("E61 exit %d: %+v", code, b)
				}
			}
			for name, number := range map[string]int{
				"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "SEGV": 11, "PIPE": 13, "ALRM": 14, "TERM": 15,
			} {
				if b := s.process("testcmd", []string{"signal", name}).yaml(); b.Signal != "SIG"+name || b.ExitCode != 128+number {
					t.Errorf("E61 SIG%s: %+v", name, b)
				}
			}
			if cores, _ := filepath.Glob(filepath.Join(w.workspace, "core*")); len(cores) > 0 {
				t.Errorf("E61 a core file was left: %v", cores)
			}
		})
	}
}
