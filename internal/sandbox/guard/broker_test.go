//go:build linux

package guard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asked is a call of a test: renameat2 of these names.
type asked struct {
	from, to string
	flags    uint64
	number   int

	mu    sync.Mutex
	texts func(name string, times int) string // what the memory of the command says
	asks  map[uint64]int
	gone  bool // it is valid no more
	done  chan string
}

func ask(from, to string) *asked {
	return &asked{from: from, to: to, number: unix.SYS_RENAMEAT2, asks: map[uint64]int{}, done: make(chan string, 8)}
}

func (a *asked) PID() int    { return os.Getpid() }
func (a *asked) Number() int { return a.number }
func (a *asked) Argument(i int) uint64 {
	cwd := int32(unix.AT_FDCWD)
	return []uint64{uint64(uint32(cwd)), 1, uint64(uint32(cwd)), 2, a.flags, 0}[i]
}

func (a *asked) Text(address uint64) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asks[address]++
	name := map[uint64]string{1: a.from, 2: a.to}[address]
	if name == "" {
		return "", errors.New("no such memory")
	}
	if a.texts != nil {
		name = a.texts(name, a.asks[address])
	}
	return name, nil
}

func (a *asked) OpenDir(_ int32, path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

func (a *asked) Valid() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.gone
}

func (a *asked) Continue()                  { a.done <- "continue" }
func (a *asked) Return(errno syscall.Errno) { a.done <- unix.ErrnoName(errno) }

// rename asks the guard, and gives its one answer: "" is success in place of the
// command.
func (w *workspace) rename(a *asked) (answer, why string) {
	w.Helper()
	w.Supervise(a, func(s string) { why = s })
	select {
	case answer = <-a.done:
	case <-time.After(time.Minute):
		w.Fatal("no answer")
	}
	w.asked = append(w.asked, a)
	return answer, why
}

func (w *workspace) lock(name, text string) *asked {
	w.write(name+".lock", text)
	return ask(w.At(name)+".lock", w.At(name))
}

// TestARenameIsAnswered: let through, made in place of the command, or refused.
func TestARenameIsAnswered(t *testing.T) {
	for _, c := range []struct {
		says   string
		call   func(w *workspace) *asked
		answer string
		config string // afterwards
	}{
		{"an honest change", func(w *workspace) *asked { return w.lock("r/config", namedConfig) }, "", namedConfig},
		{"a program", func(w *workspace) *asked { return w.lock("r/config", evilConfig) }, "EPERM", plainConfig},
		{"no configuration", func(w *workspace) *asked { return w.lock("r/config", "[core") }, "EPERM", plainConfig},
		{"a file of 2 MiB", func(w *workspace) *asked { return w.lock("r/config", strings.Repeat("\n", 2<<20)) }, "continue", plainConfig},
		{"a link", func(w *workspace) *asked {
			w.Must(os.Symlink("x", w.At("r/config.lock")))
			return ask(w.At("r/config.lock"), w.At("r/config"))
		}, "continue", plainConfig},
		{"no lock", func(w *workspace) *asked { return ask(w.At("r/config.lock"), w.At("r/config")) }, "continue", plainConfig},
		{"another name", func(w *workspace) *asked {
			w.lock("r/config", evilConfig)
			return ask(w.At("r/config.lock"), w.At("r/x"))
		}, "continue", plainConfig},
		{"from another name", func(w *workspace) *asked { w.write("r/x", evilConfig); return ask(w.At("r/x"), w.At("r/config")) }, "continue", plainConfig},
		{"from another directory", func(w *workspace) *asked {
			w.lock("config", evilConfig)
			return ask(w.At("config.lock"), w.At("r/config"))
		}, "continue", plainConfig},
		{"an exchange", func(w *workspace) *asked {
			a := w.lock("r/config", evilConfig)
			a.flags = unix.RENAME_EXCHANGE
			return a
		}, "continue", plainConfig},
		{"where there is no repository", func(w *workspace) *asked { w.Mkdir("d"); return w.lock("d/config", evilConfig) }, "continue", plainConfig},
		{"memory that cannot be read", func(*workspace) *asked { return ask("", "") }, "continue", plainConfig},
		{"another call", func(w *workspace) *asked { a := w.lock("r/config", evilConfig); a.number = unix.SYS_READ; return a }, "continue", plainConfig},
		{"a name that changes after the look", func(w *workspace) *asked {
			a := w.lock("r/config", namedConfig)
			a.texts = func(name string, times int) string {
				if times > 1 && name == a.to {
					return w.At("r/other")
				}
				return name
			}
			return a
		}, "continue", plainConfig},
		{"a directory that changes after the look", func(w *workspace) *asked {
			w.skeleton("s")
			w.write("s/config.lock", evilConfig)
			a := w.lock("r/config", namedConfig)
			a.texts = func(name string, times int) string {
				if times > 1 {
					return w.At("s/" + filepath.Base(name))
				}
				return name
			}
			return a
		}, "continue", plainConfig},
		{"a call that is not valid any more", func(w *workspace) *asked { a := w.lock("r/config", namedConfig); a.gone = true; return a }, "continue", plainConfig},
	} {
		t.Run(c.says, func(t *testing.T) {
			w := newWorkspace(t)
			w.pinned("r")
			b := &pins{}
			w.Join(b, w.Changes())
			answer, why := w.rename(c.call(w))
			if answer != c.answer || (why != "") != (answer == "EPERM") {
				t.Errorf("answered %q, %q", answer, why)
			}
			w.says("r/config", c.config)
			if _, err := os.Lstat(w.At("r/config.lock")); c.answer == "" && err == nil {
				t.Error("the lock is there still")
			}
			w.nothingIn("r/hooks", "pre-commit")
			if answer != "" && w.Changes() != 0 {
				t.Error("a pin has come off")
			}
		})
	}
}

// TestACallThatEndsWhileItIsJudged changes nothing, whenever it ends.
func TestACallThatEndsWhileItIsJudged(t *testing.T) {
	w := newWorkspace(t)
	w.pinned("r")
	a := w.lock("r/config", namedConfig+"[extensions]\n\tworktreeConfig = true\n")
	b := &pins{then: func() { a.mu.Lock(); a.gone = true; a.mu.Unlock() }}
	w.Join(b, w.Changes())
	if answer, _ := w.rename(a); answer != "EIO" {
		t.Errorf("answered %q", answer)
	}
	w.says("r/config", plainConfig)
	w.nothingIn("r", "config", "config.lock", "HEAD", "hooks")
	w.nothingIn("r/hooks", "pre-commit")
	if w.Stale(b) {
		t.Error("a pin has come off")
	}
}

// TestTimeIsUpOrTheChangeIsMade: never both, for any timing.
func TestTimeIsUpOrTheChangeIsMade(t *testing.T) {
	w := newWorkspace(t)
	w.pinned("r")
	w.Join(&pins{}, w.Changes())
	seen := map[string]int{}
	for i := range 300 {
		before := w.text("r/config")
		next := namedConfig
		if before == namedConfig {
			next = plainConfig
		}
		w.patience = time.Duration(i) * 5 * time.Microsecond
		if i%10 == 0 {
			w.patience = time.Minute
		}
		answer, _ := w.rename(w.lock("r/config", next))
		seen[answer]++
		want := before
		if answer == "" {
			want = next
		}
		w.says("r/config", want)
	}
	if seen[""] == 0 || seen["EIO"] == 0 || len(seen) != 2 {
		t.Errorf("answers %v", seen)
	}
}

// TestWorkTreesOfTheirOwn: the file that git would read next is pinned before it is.
func TestWorkTreesOfTheirOwn(t *testing.T) {
	w := newWorkspace(t)
	w.skeleton("r")
	stage := w.At("r/hooks")
	w.protect(Item{Path: "r/config", Kind: Config, GitDir: "r", Pinned: true, Stage: stage},
		Item{Path: "r/config.worktree", Kind: Config, GitDir: "r", Stage: stage})
	text := plainConfig + "[extensions]\n\tworktreeConfig = true\n"
	before := w.Pins()
	if answer, why := w.rename(w.lock("r/config", text)); answer != "" {
		t.Fatalf("answered %q: %s", answer, why)
	}
	w.says("r/config", text)
	w.says("r/config.worktree", "")
	if !w.PinnedSince(before, []string{w.Root}) || w.PinnedSince(before, []string{t.TempDir()}) || w.PinnedSince(w.Pins(), []string{w.Root}) {
		t.Error("what was found before counts, or another workspace is searched anew")
	}
	if answer, _ := w.rename(w.lock("r/config.worktree", evilConfig)); answer != "EPERM" {
		t.Errorf("answered %q", answer)
	}
	// A rescan that began before that finds no pin there. It is there, and refuses a rename.
	w.protect(Item{Path: "r/config.worktree", Kind: Config, GitDir: "r", Stage: stage})
	if answer, why := w.rename(w.lock("r/config.worktree", namedConfig)); answer != "" {
		t.Errorf("answered %q: %s", answer, why)
	}
	w.says("r/config.worktree", namedConfig)
}

// TestWhatIsPinnedForOneCommandMayNotBeForAnother, whose sandbox was made of what was
// found earlier: only where it is pinned for all that run, a person has written it.
func TestWhatIsPinnedForOneCommandMayNotBeForAnother(t *testing.T) {
	for _, older := range []bool{false, true} {
		w := newWorkspace(t)
		w.pinned("r")
		_ = w.begin()
		c := w.Begin([]string{w.Root}, func(path string) bool { return !older || path != w.At("r/config") }, func() {})
		w.write("r/config", evilConfig)
		found, want := w.paths(c.End()), map[bool]string{false: evilConfig, true: plainConfig}[older]
		if (found == "r/config") != older {
			t.Errorf("in an older sandbox: %v; violations %q", older, found)
		}
		w.says("r/config", want)
	}
}

// TestARepositoryThatIsBeingMadeIsTakenUp when git writes its configuration.
func TestARepositoryThatIsBeingMadeIsTakenUp(t *testing.T) {
	w := newWorkspace(t)
	c := w.begin()
	w.skeleton("new")
	if answer, why := w.rename(w.lock("new/config", evilConfig)); answer != "EPERM" || why == "" || w.Announced() != 1 {
		t.Errorf("answered %q, %q; announced %d", answer, why, w.Announced())
	}
	w.Must(os.Rename(w.At("new/config.lock"), w.At("new/config"))) // by some other way
	if found := c.End(); w.paths(found) != "new/config new/hooks" {
		t.Errorf("violations %v", found)
	}
	w.says("new/config", plainConfig)
}

// TestAClosedGuardLetsTheKernelDecide.
func TestAClosedGuardLetsTheKernelDecide(t *testing.T) {
	w := newWorkspace(t)
	w.pinned("r")
	w.Must(w.watch.close())
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	if answer, _ := w.rename(w.lock("r/config", evilConfig)); answer != "continue" {
		t.Errorf("answered %q", answer)
	}
	w.Guard, _ = New(Options{})
}
