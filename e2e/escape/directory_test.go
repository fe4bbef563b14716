//go:build linux && !race

package escape

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"tipstaff/e2e/kit"
)

// TestEscapeE15ADirectoryThatIsSwappedAfterItWasChecked exchanges a directory
// of the workspace with a link to one outside, all the time. A command runs in
// the directory that was checked, or not at all.
func TestEscapeE15ADirectoryThatIsSwappedAfterItWasChecked(t *testing.T) {
	t.Parallel()
	const calls = 60
	everywhere(t, habitat{env: []string{"ALLOWED_CWD_ROOTS={dir}/ws"}, furnish: swapped}, func(t *testing.T, w *world) {
		dir, link := w.path("ws/dir"), w.path("ws/link")
		inside, outside := inode(t, dir), inode(t, w.path("out"))
		stop := swap(t, dir, link)
		defer stop()
		if w.tier == kit.None {
			kit.Eventually(t, "a program that is started there by name ends up outside", func() bool { return strays(t, w, dir, outside) })
		}
		ran, refused := 0, 0
		kit.Eventually(t, "enough commands have run, and some were refused", func() bool {
			r := w.On(t).Process("testcmd", []string{"cwd"}, kit.Args{"cwd": dir})
			if r.IsError {
				refused++
			} else {
				ran++
				w.stayed(t, r, r.YAML().Stdout, inside)
			}
			return ran+refused >= calls && ran > 0 && refused > 0
		}, func() string { return fmt.Sprintf("%d ran and %d were refused", ran, refused) })
		w.sessionStays(t, dir, inside, calls)
	})
}

// stayed checks the directory in which a command says it has run.
func (w *world) stayed(t *testing.T, r kit.Reply, said string, inside uint64) {
	t.Helper()
	var at struct{ Ino uint64 }
	if err := json.Unmarshal([]byte(said), &at); err != nil || at.Ino != inside {
		t.Fatalf("it ran outside:\n%s", r.Text)
	}
}

// sessionStays does the same in a session that was opened in the directory.
func (w *world) sessionStays(t *testing.T, dir string, inside uint64, calls int) {
	t.Helper()
	s, id := w.On(t), ""
	kit.Eventually(t, "a session is opened", func() bool {
		b := s.Call("terminal_create_session", kit.Args{"taskId": "T", "agentId": "a", "workingDirectory": dir}).JSON()
		id = b.SessionID
		return b.Success
	})
	for range calls / 2 {
		r := s.InSession(id, "testcmd", []string{"cwd"})
		if !r.IsError {
			w.stayed(t, r, r.JSON().Stdout, inside)
		}
	}
}

// swapped has a directory in the workspace, and a link that leads outside.
func swapped(t *testing.T, w *world) {
	w.put(t, "ws/dir/file", "")
	if err := os.Symlink(w.path("out"), w.path("ws/link")); err != nil {
		t.Fatal(err)
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

// swap exchanges two paths until stop, and leaves them as they were.
func swap(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				if n%2 == 0 {
					return
				}
			default:
			}
			if err := exchanged(a, b); err != nil {
				t.Errorf("cannot exchange: %v", err)
				return
			}
		}
	})
	return func() { close(done); swapping.Wait() }
}

func exchanged(a, b string) error {
	from, err := syscall.BytePtrFromString(a)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(b)
	if err != nil {
		return err
	}
	const here, exchange = ^uintptr(99), 2 // AT_FDCWD, RENAME_EXCHANGE
	if _, _, errno := syscall.Syscall6(renameat2, here, uintptr(unsafe.Pointer(from)), here, uintptr(unsafe.Pointer(to)), exchange, 0); errno != 0 {
		return errno
	}
	return nil
}

// strays starts a program in a directory by its path, as programs usually do,
// and reports whether it has run in another.
func strays(t *testing.T, w *world, dir string, outside uint64) bool {
	t.Helper()
	c := exec.Command(ground(t)+"/bin/testcmd", "cwd")
	c.Dir, c.SysProcAttr = dir, kit.As(w.uid)
	out, err := c.Output()
	var at struct{ Ino uint64 }
	return err == nil && json.Unmarshal(out, &at) == nil && at.Ino == outside
}

// TestEscapeE16ADirectoryOutsideOfTheRootsIsRefused. The control: without roots
// a command may run anywhere.
func TestEscapeE16ADirectoryOutsideOfTheRootsIsRefused(t *testing.T) {
	furnish := func(t *testing.T, w *world) {
		swapped(t, w)
		if err := errors.Join(os.Symlink("../out", w.path("ws/relative")), os.Mkdir(w.path("ws2"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	t.Parallel()
	places := map[string]string{
		"up":                           "..",
		"up and down":                  "../out",
		"absolute":                     "{dir}/out",
		"a link that leads out":        "link",
		"a relative link":              "relative",
		"up, out of a link":            "link/..",
		"the root of the process":      "/proc/self/root{dir}/out",
		"its directory, and up":        "/proc/self/cwd/..",
		"a name that begins as a root": "{dir}/ws2",
	}
	everywhere(t, habitat{furnish: furnish, env: []string{"ALLOWED_CWD_ROOTS={dir}/ws"}}, func(t *testing.T, w *world) {
		free := settle(t, w.tier, w.uid, habitat{furnish: furnish})
		for says, dir := range places {
			t.Run("E16 "+says, func(t *testing.T) {
				at := strings.ReplaceAll(dir, "{dir}", w.dir)
				if !filepath.IsAbs(at) {
					at = w.Workspace + "/" + at
				}
				w.On(t).Process("pwd", nil, kit.Args{"cwd": w.path("ws/dir")}).Ran()
				if r := w.On(t).Process("pwd", nil, kit.Args{"cwd": at}); !r.IsError {
					t.Errorf("%s was entered:\n%s", dir, r.Text)
				}
				at = strings.ReplaceAll(at, w.dir, free.dir)
				if r := free.On(t).Process("pwd", nil, kit.Args{"cwd": at}); r.IsError {
					t.Errorf("even without roots %s was not entered:\n%s", dir, r.Text)
				}
			})
		}
	})
}

// TestEscapeE16TheCallersDirectoryOpensNoStartup: without roots, a command may
// change the directory that the caller names. This must not give access to what
// shells and sessions run outside of any sandbox, or to what other commands
// share.
func TestEscapeE16TheCallersDirectoryOpensNoStartup(t *testing.T) {
	t.Parallel()
	furnish := func(t *testing.T, w *world) {
		for _, name := range secrets { // beside a hidden one, Landlock lets nothing be made
			_ = os.RemoveAll(w.path("home", strings.Split(name, "/")[0]))
		}
		_ = os.Remove(w.path("home/tools-allow.json"))
		if err := os.MkdirAll(w.path("home/.config"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	everywhere(t, habitat{furnish: furnish}, func(t *testing.T, w *world) {
		for try, dir := range map[string]string{
			"append .profile":       "home", // it exists
			"create .bashrc":        "home",
			"create .zshenv":        "home",
			"mkdir .config/systemd": "home",
			"mkdir autostart":       "home/.config",
		} {
			r := w.On(t).Process("testcmd", append([]string{"attempt"}, strings.Fields(try)...), kit.Args{"cwd": w.path(dir)})
			if !r.IsError && outcomeOf(t, r).OK != (w.tier == kit.None) {
				t.Errorf("from the directory %s: %s:\n%s", dir, try, r.Text)
			}
		}
	})
}
