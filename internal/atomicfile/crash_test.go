//go:build unix

package atomicfile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func sameMode(got, want fs.FileMode) bool { return got.Perm() == want }

const (
	crashFile = "ATOMICFILE_TEST_FILE"
	crashStep = "ATOMICFILE_TEST_STEP"
)

// TestACrashLeavesTheOldFileOrTheNewOne runs itself again in a process that is killed
// at a step.
func TestACrashLeavesTheOldFileOrTheNewOne(t *testing.T) {
	if path := os.Getenv(crashFile); path != "" {
		replaceAndWait(path, os.Getenv(crashStep))
		return
	}
	for step, want := range map[string]string{"write": "old", "sync": "old", "name": "old", "sync directory": "new"} {
		t.Run(step, func(t *testing.T) {
			path := fileWith(t, "old")
			killAt(t, path, step)
			if got, err := os.ReadFile(path); err != nil || string(got) != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
			left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), Prefix+"*"))
			if want == "old" && len(left) != 1 || want == "new" && len(left) != 0 {
				t.Errorf("left: %q", left)
			}
			if err := Replace(path, strings.NewReader("newer"), Options{Mode: 0o600}); err != nil {
				t.Error("the next one:", err)
			}
		})
	}
}

// killAt ends a process that replaces a file before it has done a step.
func killAt(t *testing.T, path, step string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestACrashLeavesTheOldFileOrTheNewOne$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), crashFile+"="+path, crashStep+"="+step)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != step+"\n" {
		t.Error(line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// replaceAndWait replaces a file, but for a step at which it waits for its end.
func replaceAndWait(path, at string) {
	wait := func(step string) {
		if step == at {
			_, _ = os.Stdout.WriteString(step + "\n")
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
	}
	content := io.MultiReader(strings.NewReader("n"), reader(func() { wait("write") }), strings.NewReader("ew"))
	_ = system{
		func(f *os.File) error { wait("sync"); return f.Sync() },
		func(temp, path string) error { wait("name"); return os.Rename(temp, path) },
		func(path string) error { wait("sync directory"); return syncDir(path) },
	}.put(path, content, Options{Mode: 0o600})
}

// reader is empty, and calls itself before it says so.
type reader func()

func (r reader) Read([]byte) (int, error) { r(); return 0, io.EOF }

func TestADirectoryThatCannotBeWrittenIsLeftAsItIs(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	path := fileWith(t, "old")
	if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o700) })
	var failed *Error
	if err := Replace(path, strings.NewReader("new"), Options{Mode: 0o600}); !errors.As(err, &failed) || failed.Step != Make || !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	only(t, path, "old")
}

func TestAFullDiskLeavesTheOldFile(t *testing.T) { testcmdtest.OnSmallDisk(t, "64k", fill) }

func fill(t *testing.T, dir string) {
	path := filepath.Join(dir, "file")
	if err := Replace(path, strings.NewReader("old"), Options{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("n", 128<<10)
	var failed *Error
	if err := Replace(path, strings.NewReader(big), Options{Mode: 0o600}); !errors.As(err, &failed) || failed.Step != Write || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	only(t, path, "old")
	if err := Replace(path, strings.NewReader("new"), Options{Mode: 0o600}); err != nil {
		t.Error("the room was not given back:", err)
	}
	only(t, path, "new")
}
