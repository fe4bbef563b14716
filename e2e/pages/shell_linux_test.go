//go:build !race

package pages

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"tipstaff/e2e/kit"
)

// shell is a bash in a terminal, which runs one command after the other, as a
// reader of a page types them.
type shell struct {
	dir      string // its home directory
	notes    string // commands, and what they say
	terminal *os.File
	orders   *os.File
	codes    *bufio.Reader
	number   int
	handle   string // of the last question to a person
}

// patience is more than any command of a page takes.
const patience = 60 * time.Second

// reader is the shell: it runs the files that it is told, in this same shell, so
// that directory and variables stay; and says how each has ended.
const reader = `set -o pipefail; while IFS= read -r file <&3; do . "$file" 3<&- 4>&- >"$file.out" 2>&1; echo $? >&4; done`

// project is what the reader works on.
var project = map[string]string{
	"go.mod":        "module example.org/hello\n\ngo 1.26\n",
	"hello.go":      "package hello\n\nfunc Greet() string { return \"hello\" }\n",
	"hello_test.go": "package hello\n\nimport \"testing\"\n\nfunc TestGreet(t *testing.T) {\n\tif Greet() != \"hello\" {\n\t\tt.Fatal(Greet())\n\t}\n}\n",
	"README.md":     "# hello\n",
}

// home makes a home directory with a project in it.
func home(t *testing.T) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	fill(t, dir)
	return dir
}

// fill makes the project in a home directory.
func fill(t *testing.T, dir string) {
	t.Helper()
	for name, text := range project {
		path := filepath.Join(dir, "my-project", name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"add", "."}, {"commit", "--quiet", "-m", "hello"},
		{"clone", "--quiet", "--bare", ".", filepath.Join(dir, "origin.git")}, {"remote", "add", "origin", filepath.Join(dir, "origin.git")},
	} {
		cmd := exec.Command("git", append([]string{"-C", filepath.Join(dir, "my-project"), "-c", "user.name=You", "-c", "user.email=you@example.org"}, args...)...)
		cmd.Env = environment(t, dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// environment is what a person's shell has.
func environment(t *testing.T, home string) []string {
	t.Helper()
	goroot, err := exec.LookPath("go")
	must(t, err)
	return []string{
		"HOME=" + home, "PATH=" + filepath.Dir(kit.Path(t)) + ":" + filepath.Dir(goroot) + ":/usr/local/bin:/usr/bin:/bin",
		"LANG=C.UTF-8", "TERM=dumb", "GOFLAGS=-mod=mod",
	}
}

// start starts a shell in the project of a home directory.
func start(t *testing.T, home string) *shell {
	t.Helper()
	s := &shell{dir: home, notes: t.TempDir()}
	master, slave := terminal(t)
	s.terminal = master
	orders, ordersIn, err := os.Pipe()
	must(t, err)
	codes, codesIn, err := os.Pipe()
	must(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(environment(t, home), apart+"="+strconv.FormatBool(kit.Contained()))
	cmd.Dir = filepath.Join(home, "my-project")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.ExtraFiles = []*os.File{orders, codesIn}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if kit.Contained() { // a network of its own: the ports that pages name are free there
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	}
	must(t, cmd.Start())
	for _, f := range []*os.File{slave, orders, codesIn} {
		must(t, f.Close())
	}
	s.orders, s.codes = ordersIn, bufio.NewReader(codes)
	t.Cleanup(func() {
		_ = ordersIn.Close()
		if t.Failed() { // it may wait for an answer that nothing gives
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("the shell: %v", err)
		}
		_ = codes.Close()
		_ = master.Close()
	})
	return s
}

// apart marks the process that becomes the shell; "true" if it has a network of
// its own.
const apart = "TIPSTAFF_TEST_PAGES_SHELL"

// becomeShell becomes the shell.
func becomeShell() error {
	if os.Getenv(apart) == "true" {
		if err := switchLoopbackOn(); err != nil {
			return err
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return err
	}
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, apart) {
			env = append(env, kv)
		}
	}
	return syscall.Exec(bash, []string{"bash", "--norc", "-c", reader}, env)
}

func switchLoopbackOn() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var request struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	request.flags = syscall.IFF_UP | syscall.IFF_RUNNING
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}

// terminal opens a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	var number, unlocked int32
	for request, to := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(to))); errno != 0 {
			t.Fatal(errno)
		}
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	return master, slave
}

var aHandle = regexp.MustCompile(`apr_[a-z2-7]{26}`)

// run runs a command and returns what it says, with its exit code.
func (s *shell) run(t *testing.T, text string) (says, code string) {
	t.Helper()
	text = strings.ReplaceAll(text, "/etc/tipstaff", s.dir+"/etc/tipstaff")
	if s.handle != "" {
		text = aHandle.ReplaceAllString(text, s.handle)
	}
	s.number++
	file := filepath.Join(s.notes, fmt.Sprintf("%d", s.number))
	must(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	_, err := fmt.Fprintln(s.orders, file)
	must(t, err)
	ended := make(chan string, 1)
	go func() {
		line, _ := s.codes.ReadString('\n')
		ended <- strings.TrimSpace(line)
	}()
	select {
	case code = <-ended:
	case <-time.After(patience):
		t.Fatalf("it does not end: %s\n%s", text, output(file))
	}
	says = output(file)
	if all := aHandle.FindAllString(says, -1); len(all) > 0 {
		s.handle = all[len(all)-1]
	}
	return says, code
}

func output(file string) string {
	data, err := os.ReadFile(file + ".out")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(data)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
