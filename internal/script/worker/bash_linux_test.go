package worker

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// answer is what a script comes to: all that a caller sees of it.
type answer struct {
	out   string
	errs  int // lines of standard error
	code  int
	files string
}

// inBash asks real bash.
func inBash(t testing.TB, text, stdin string) (answer, string) {
	t.Helper()
	var o, e bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-c", text)
	c.Dir, c.Stdout, c.Stderr, c.Env, c.Stdin = t.TempDir(), &o, &e, environment(), input(t, stdin)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	_ = c.Run()
	code := c.ProcessState.ExitCode()
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	return answer{strings.ReplaceAll(o.String(), c.Dir, "DIR"), strings.Count(e.String(), "\n"), code, listing(c.Dir)}, e.String()
}

// input is a file: programs give back what they read too much of one, and not of a pipe.
func input(t testing.TB, text string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// here asks the script process.
func here(t testing.TB, text, stdin string) (answer, string, error) {
	t.Helper()
	dir := t.TempDir()
	r, err := script{text: text, dir: dir, stdin: stdin}.start(t)
	if r.gone {
		err = fmt.Errorf("gone: %s", r.crash)
	}
	return answer{strings.ReplaceAll(r.out, dir, "DIR"), strings.Count(r.err, "\n"), r.code, listing(dir)}, r.err + refusedMark(r), err
}

func listing(dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return nil //nolint:nilerr // it has gone meanwhile
		}
		rel, _ := filepath.Rel(dir, p)
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it has gone meanwhile
		}
		text := ""
		if d.Type().IsRegular() {
			c, _ := os.ReadFile(p)
			text = unnumbered(strings.ReplaceAll(string(c), dir, "DIR"))
		}
		fmt.Fprintf(&b, "%s %v %q\n", rel, info.Mode(), text)
		return nil
	})
	return b.String()
}

// same holds the script process to bash.
func same(t *testing.T, text string) {
	t.Helper()
	want, wantErr := inBash(t, text, "in1\nin2\n")
	got, gotErr, err := here(t, text, "in1\nin2\n")
	if err != nil {
		t.Errorf("%s\n%v", text, err)
		return
	}
	if (got.errs > 0) != (want.errs > 0) || got.out != want.out || got.code != want.code || got.files != want.files {
		t.Errorf("%s\nhere %q %d err %q files %q\nbash %q %d err %q files %q", text, got.out, got.code, gotErr, got.files, want.out, want.code, wantErr, want.files)
	}
}

func TestScriptsDoWhatBashDoes(t *testing.T) {
	text, err := os.ReadFile("testdata/same.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range strings.Split(string(text), "\n%%\n") {
		if text = strings.TrimSuffix(text, "\n"); text == "" {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			same(t, text)
		})
	}
}

// refusedMark marks a script that was refused before it began.
func refusedMark(r result) string {
	if r.done.Text == "" {
		return ""
	}
	return "~refused " + r.done.Text
}
