package landlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inChild holds the trial of a child of the tests.
const inChild = "TIPSTAFF_TEST_LANDLOCK"

// trial is where a child tries what it may do.
type trial struct {
	Dir      string  // ws, other, norefer: writable; readable; hidden; file, tool: files
	Port     int     // a process listens for TCP
	Abstract string  // a process listens at this abstract socket
	Confine  bool    // or try it all unconfined
	Options  Options // if confined
}

func (w trial) path(name string) string { return filepath.Join(w.Dir, name) }

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(inChild)
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child confines its thread, tries all that is promised, and tells the errors.
func child(text string) error {
	runtime.LockOSThread()
	var w trial
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	if len(os.Args) > 1 && os.Args[1] == "hidden" {
		return hidden()
	}
	if w.Confine {
		r, err := w.ruleset()
		if err != nil {
			return err
		}
		if err := restrictSelf(r); err != nil {
			return err
		}
	}
	got := map[string]syscall.Errno{}
	for _, p := range promises {
		err := p.try(w)
		var errno syscall.Errno
		if err != nil && !errors.As(err, &errno) {
			return fmt.Errorf("%s: %w", p.say, err)
		}
		got[p.say] = errno
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

func (w trial) ruleset() (*Ruleset, error) {
	r, err := New(w.Options)
	if err != nil || !w.Options.Files {
		return r, err
	}
	for name, a := range map[string]Access{
		"ws": Read | Write, "other": Read | Write, "norefer": Read | Write&^Refer,
		"readable": ReadFile | ReadDir, "file": Read | Write, "tool": Read,
	} {
		if err := r.AllowPath(w.path(name), a); err != nil {
			return nil, err
		}
	}
	for name, a := range map[string]Access{"/dev/null": Device, "/dev/random": Device, "/dev/urandom": Read} {
		if err := r.AllowPath(name, a); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{"/usr", "/lib", "/lib64", "/bin"} {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if err := r.AllowPath(dir, Read); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func restrictSelf(r *Ruleset) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.FD()), 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// measure lets a child try everything in a new directory.
func measure(t *testing.T, w trial) map[string]syscall.Errno {
	t.Helper()
	w.Dir = t.TempDir()
	if dir, err := filepath.EvalSymlinks(w.Dir); err == nil {
		w.Dir = dir
	}
	furnish(t, w)
	out, err := start(w)
	got := map[string]syscall.Errno{}
	if err != nil || json.Unmarshal(out, &got) != nil {
		t.Fatalf("the child ended with %v and said %q", err, out)
	}
	return got
}

func start(w trial, args ...string) ([]byte, error) {
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), inChild+"="+string(text), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

func furnish(t *testing.T, w trial) {
	t.Helper()
	for _, dir := range []string{"ws", "other", "norefer", "readable", "hidden"} {
		if err := os.Mkdir(w.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"a", "b", "c", "d", "e"} {
			if err := os.WriteFile(w.path(dir+"/"+file), []byte("text\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"file": 0o644, "tool": 0o755, "readable/tool": 0o755} {
		if err := os.WriteFile(w.path(name), text, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(w.path("readable/a"), w.path("ws/link")); err != nil {
		t.Fatal(err)
	}
}

func needLandlock(t *testing.T) int {
	t.Helper()
	abi, err := Version()
	if err != nil {
		t.Skipf("nothing can be shown here: %v", err)
	}
	return abi
}
