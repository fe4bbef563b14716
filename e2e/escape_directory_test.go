//go:build escape && linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// TestEscapeE15ADirectoryThatIsSwappedAfterItWasChecked has somebody exchange a
// directory of the workspace and a link to one outside, all the time. A command
// runs in the one that was checked, or not at all.
func TestEscapeE15ADirectoryThatIsSwappedAfterItWasChecked(t *testing.T) {
	calls := 60
	if testing.Short() {
		calls = 30
	}
	for _, w := range everywhere(t, habitat{env: []string{"ALLOWED_CWD_ROOTS={dir}/ws"}, furnish: swapped}) {
		t.Run(w.String(), func(t *testing.T) {
			dir, link := w.path("ws/dir"), w.path("ws/link")
			inside, outside := inode(t, dir), inode(t, w.path("out"))
			stop := swap(t, dir, link)
			defer stop()
			if w.tier == notConfined {
				if !strays(t, w, dir, outside) {
					t.Error("a program that is started there by name never ends up outside: nothing is shown")
				}
			}
			ran, refused := 0, 0
			for range calls {
				r := w.on(t).process("testcmd", []string{"cwd"}, args{"cwd": dir})
				if r.IsError {
					refused++
					continue
				}
				ran++
				var at struct{ Ino uint64 }
				if err := json.Unmarshal([]byte(r.yaml().Stdout), &at); err != nil {
					t.Fatal(r.Text)
				}
				if at.Ino != inside {
					t.Fatalf("it ran outside (%v):\n%s", at.Ino == outside, r.Text)
				}
			}
			if ran == 0 || refused == 0 {
				t.Errorf("%d ran and %d were refused: one of the two was never met", ran, refused)
			}
			w.sessionStays(t, dir, inside, calls)
		})
	}
}

// sessionStays does the same in a session that was opened in the directory.
func (w *world) sessionStays(t *testing.T, dir string, inside uint64, calls int) {
	t.Helper()
	s, id := w.on(t), ""
	eventually(t, "a session is opened", func() bool {
		b := s.call("terminal_create_session", args{"taskId": "T", "agentId": "a", "workingDirectory": dir}).json()
		id = b.SessionID
		return b.Success
	})
	for range calls / 2 {
		r := s.inSession(id, "testcmd", []string{"cwd"})
		if r.IsError {
			continue
		}
		var at struct{ Ino uint64 }
		if err := json.Unmarshal([]byte(r.json().Stdout), &at); err != nil || at.Ino != inside {
			t.Fatalf("a command of a session ran outside:\n%s", r.Text)
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

// strays starts a program in a directory by its name, as everybody does.
func strays(t *testing.T, w *world, dir string, outside uint64) bool {
	t.Helper()
	for range 200 {
		c := exec.Command(ground(t)+"/bin/testcmd", "cwd")
		c.Dir, c.SysProcAttr = dir, as(w.uid)
		out, err := c.Output()
		var at struct{ Ino uint64 }
		if err == nil && json.Unmarshal(out, &at) == nil && at.Ino == outside {
			return true
		}
	}
	return false
}

// TestEscapeE16ADirectoryOutsideOfTheRootsIsRefused: without roots a command
// may run anywhere, which is the control.
func TestEscapeE16ADirectoryOutsideOfTheRootsIsRefused(t *testing.T) {
	furnish := func(t *testing.T, w *world) {
		swapped(t, w)
		if err := os.Symlink("../out", w.path("ws/relative")); err != nil {
			t.Fatal(err)
		}
	}
	free := everywhere(t, habitat{furnish: furnish})
	kept := everywhere(t, habitat{furnish: furnish, env: []string{"ALLOWED_CWD_ROOTS={dir}/ws"}})
	for says, dir := range map[string]string{
		"up":                           "..",
		"up and down":                  "../out",
		"absolute":                     "{dir}/out",
		"a link that leads out":        "link",
		"a relative link":              "relative",
		"up, out of a link":            "link/..",
		"the root of the process":      "/proc/self/root{dir}/out",
		"its directory, and up":        "/proc/self/cwd/..",
		"a name that begins as a root": "{dir}/ws2",
	} {
		t.Run("E16 "+says, func(t *testing.T) {
			for i, w := range kept {
				at := strings.ReplaceAll(dir, "{dir}", w.dir)
				if !filepath.IsAbs(at) {
					at = filepath.Join(w.workspace) + "/" + at
				}
				w.on(t).process("pwd", nil, args{"cwd": w.path("ws/dir")}).ran()
				if r := w.on(t).process("pwd", nil, args{"cwd": at}); !r.IsError {
					t.Errorf("%v: %s was entered:\n%s", w, dir, r.Text)
				}
				at = strings.ReplaceAll(at, w.dir, free[i].dir)
				_ = os.Mkdir(free[i].path("ws2"), 0o755)
				if r := free[i].on(t).process("pwd", nil, args{"cwd": at}); r.IsError {
					t.Errorf("%v: even without roots %s was not entered:\n%s", w, dir, r.Text)
				}
			}
		})
	}
}

// TestEscapeE16TheCallersDirectoryOpensNoStartup: without roots, a command may
// change the directory that the caller names. That is no way to what shells and
// sessions run outside of any sandbox, or to what commands of others share.
func TestEscapeE16TheCallersDirectoryOpensNoStartup(t *testing.T) {
	for _, w := range everywhere(t, habitat{furnish: func(t *testing.T, w *world) {
		for _, name := range secrets { // where one is hidden, Landlock lets nothing be made beside it
			_ = os.RemoveAll(w.path("home", strings.Split(name, "/")[0]))
		}
		_ = os.Remove(w.path("home/tools-allow.json"))
		if err := os.MkdirAll(w.path("home/.config"), 0o755); err != nil {
			t.Fatal(err)
		}
	}}) {
		t.Run(w.String(), func(t *testing.T) {
			for try, dir := range map[string]string{
				"append .profile":       "home", // it exists
				"create .bashrc":        "home",
				"create .zshenv":        "home",
				"mkdir .config/systemd": "home",
				"mkdir autostart":       "home/.config",
			} {
				r := w.on(t).process("testcmd", append([]string{"attempt"}, strings.Fields(try)...), args{"cwd": w.path(dir)})
				if !r.IsError && outcomeOf(t, r).OK != (w.tier == notConfined) {
					t.Errorf("from the directory %s: %s:\n%s", dir, try, r.Text)
				}
			}
		})
	}
}
