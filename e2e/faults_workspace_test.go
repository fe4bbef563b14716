//go:build linux && !race

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"tipstaff/e2e/kit"
)

// traps writes what an archive may bring, and a command may write: what a search that
// does as git does would read for ever, or block on.
func traps(t *testing.T, dir string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, content string) {
		t.Helper()
		must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	repository := func(name, config string) string {
		t.Helper()
		put(name+"/.git/HEAD", "ref: refs/heads/main\n")
		put(name+"/.git/config", config)
		must(os.MkdirAll(filepath.Join(dir, name, ".git/objects"), 0o755))
		must(os.MkdirAll(filepath.Join(dir, name, ".git/refs"), 0o755))
		return filepath.Join(dir, name, ".git")
	}
	includes := func(format string, n int) string {
		var b strings.Builder
		b.WriteString("[include]\n")
		for i := range n {
			b.WriteString("\tpath = " + strings.ReplaceAll(format, "%", fmt.Sprint(i)) + "\n")
		}
		return b.String()
	}
	repository(".", includes("config", 12))
	nested := "nested"
	for range 20 {
		repository(nested, includes("config", 12))
		nested += "/nested"
	}
	git := repository("links", includes("c%", 1000))
	for i := range 200 {
		must(os.Link(filepath.Join(git, "config"), filepath.Join(git, fmt.Sprintf("c%d", i))))
	}
	repository("missing", includes("m%", 60_000))
	repository("long", "[include]\n\tpath = "+strings.Repeat("a/", 340_000)+"\n")
	must(os.Truncate(filepath.Join(repository("huge", ""), "config"), 1<<40))
	config := filepath.Join(repository("fifo", ""), "config")
	must(errors.Join(os.Remove(config), syscall.Mkfifo(config, 0o644)))
	config = filepath.Join(repository("zero", ""), "config")
	must(errors.Join(os.Remove(config), os.Symlink("/dev/zero", config)))
	must(os.Symlink(".", filepath.Join(dir, "loop")))
	must(os.Symlink("self", filepath.Join(dir, "self")))
	must(os.Symlink("self", filepath.Join(repository("selfish", ""), "commondir")))
	deep(t, dir, 3000)
}

// deep makes directories, each in the other, whose path is longer than any call takes.
func deep(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range levels {
		if err == nil {
			err = unix.Mkdirat(at, "dd", 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		var next int
		next, err = unix.Openat(at, "dd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		_ = unix.Close(at)
		at = next
	}
	_ = unix.Close(at)
}

// control shows with git that one of the traps holds up what reads it.
func control(t *testing.T, repository string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "-C", repository, "config", "--list").CombinedOutput()
	if ctx.Err() == nil {
		t.Errorf("git is not held up, so nothing is shown: %v: %s", err, out)
	}
}

// TestAHostileWorkspaceHoldsUpNoOther: neither calls of other workspaces, nor a new
// server, doctor, or the end of the server, while calls of the hostile one are in
// flight.
func TestAHostileWorkspaceHoldsUpNoOther(t *testing.T) {
	for tier, env := range map[string][]string{"the best tier": {"TIPSTAFF_SANDBOX=best-effort"}, kit.Landlock: kit.Sandboxed(kit.Landlock)} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			s := prepare(t, setup{env: env})
			other := canonical(t, t.TempDir())
			s.Cmd.Env = append(s.Cmd.Env, "ALLOWED_CWD_ROOTS="+s.Workspace+","+other)
			s.Connect()
			in := kit.Args{"cwd": other, "timeout_ms": 5000}
			s.Command("echo well", in).Ran() // as long as nothing is hostile
			traps(t, other)
			var hostile []chan string
			for range 8 {
				answer := make(chan string, 1)
				hostile = append(hostile, answer)
				go func() { answer <- s.Command("echo well", in).Text }()
			}
			control(t, filepath.Join(other, "fifo"))
			for range 20 {
				within(t, "a call of another workspace", func() { s.Command("echo well").Ran() })
			}
			for _, answer := range hostile {
				within(t, "a call of the hostile workspace", func() { t.Logf("%.200q", <-answer) })
			}
			within(t, "doctor", func() {
				cmd := exec.CommandContext(t.Context(), s.Cmd.Path, "doctor", "--json")
				cmd.Dir, cmd.Env = other, s.Cmd.Env
				if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), `"sandbox":{"tier"`) {
					t.Errorf("doctor: %v: %.400s", err, out)
				}
			})
			second := *s
			second.State = t.TempDir()
			cmd := exec.Command(s.Cmd.Path, "serve")
			cmd.Dir, cmd.Env = other, kit.Overlay(s.Cmd.Env, []string{"TIPSTAFF_STATE_DIR=" + second.State})
			second.Cmd = cmd
			var r *kit.Raw
			within(t, "initialize of a server in the hostile workspace", func() { r = kit.StartRaw(t, cmd); r.Initialize() })
			r.Send(r.Line(1, "execute_command", kit.Args{"command": "echo well"}))
			_ = r.In.Close()
			wantEnded(t, &second, 0)

			go func() {
				_, _ = s.Session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{"file": "sleep", "args": []string{"60"}, "cwd": other}})
			}()
			_ = s.Cmd.Process.Signal(syscall.SIGTERM)
			if !kit.Gone(s.Cmd.Process.Pid, endSoon) {
				t.Errorf("SIGTERM has not ended the server within %v", endSoon)
			}
		})
	}
}
