//go:build linux

// Package bashtest runs scripts in real Bash and programs for scripts, so that
// tests can compare the interpreter with Bash. No part of the program imports it.
package bashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Answer is everything that a caller sees of a script.
type Answer struct {
	Out    string
	Errors bool // it wrote to standard error
	Code   int
	Files  string // of its directory, as Listing has them
}

// New is the answer of a script that ran in dir.
func New(dir, stdout, stderr string, code int) Answer {
	return Answer{strings.ReplaceAll(stdout, dir, "DIR"), stderr != "", code, Listing(dir)}
}

// Bash runs a script in Bash, in a directory of its own, and returns its answer and
// its standard error.
func Bash(t testing.TB, text, stdin string) (Answer, string) {
	t.Helper()
	var o, e bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-c", text)
	c.Dir, c.Stdout, c.Stderr, c.Env, c.Stdin = t.TempDir(), &o, &e, Environment(), Input(t, stdin)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	_ = c.Run() // its state says more
	return New(c.Dir, o.String(), e.String(), Code(c.ProcessState)), e.String()
}

// Code is the exit code that a shell gives to a program that has ended.
func Code(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// Input is a file with a text. It is no pipe, because programs give back what they
// read too much of a file.
func Input(t testing.TB, text string) *os.File {
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

// Environment is what scripts begin with.
func Environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8", "TMPDIR=/tmp"}
}

// Listing lists the files below a directory with their modes and texts.
func Listing(dir string) string {
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
			text = Unworded(strings.ReplaceAll(string(c), dir, "DIR"))
		}
		fmt.Fprintf(&b, "%s %v %q\n", rel, info.Mode(), text)
		return nil
	})
	return b.String()
}

var (
	worded = regexp.MustCompile(`(?m)(bash|environment): (.*: )?line \d+: .*$`)
	pipes  = regexp.MustCompile(`/dev/fd/\d+`)
)

// Unworded leaves out what is no promise: the wording of errors, and the numbers of
// process substitutions, which Bash counts down from 63.
func Unworded(text string) string {
	return pipes.ReplaceAllString(worded.ReplaceAllString(text, "error"), "/dev/fd/N")
}

// Command prepares a program as a host of scripts would start it. The environment
// is that of the script's beginning, changes is what the script made of it, and
// files are the program's descriptors from 0 on. If there is no such program, the
// text and the code say why.
func Command(words, environment, changes []string, dir *os.File, files []*os.File) (c *exec.Cmd, text string, code int) {
	env := changed(environment, changes)
	at := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	path, err := look(words[0], at, env)
	if err != nil {
		text, code := reason(err)
		return nil, words[0] + ": " + text, code
	}
	c = &exec.Cmd{Path: path, Args: words, Env: env, Dir: at, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if len(env) == 0 {
		c.Env = []string{} // nil would be this process's own
	}
	c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = files[0], files[1], files[2], files[3:]
	return c, "", 0
}

func reason(err error) (text string, code int) {
	switch {
	case errors.Is(err, os.ErrPermission):
		return "Permission denied", 126
	case errors.Is(err, syscall.EISDIR):
		return "Is a directory", 126
	}
	return "command not found", 127
}

func look(name, dir string, env []string) (string, error) {
	executable := func(p string) error {
		st, err := os.Stat(p)
		switch {
		case err != nil:
			return err
		case st.IsDir():
			return syscall.EISDIR
		case !st.Mode().IsRegular() || st.Mode()&0o111 == 0:
			return os.ErrPermission
		}
		return nil
	}
	if filepath.IsAbs(name) {
		return name, executable(name)
	}
	if strings.Contains(name, "/") {
		return name, executable(filepath.Join(dir, name))
	}
	for _, kv := range env {
		if rest, ok := strings.CutPrefix(kv, "PATH="); ok {
			for _, d := range filepath.SplitList(rest) {
				if p := filepath.Join(d, name); filepath.IsAbs(p) && executable(p) == nil {
					return p, nil
				}
			}
		}
	}
	return "", os.ErrNotExist
}

// changed lays changed variables over the base.
func changed(base, diff []string) []string {
	out := slices.Clone(base)
	for _, kv := range diff {
		name, _, set := strings.Cut(kv, "=")
		out = slices.DeleteFunc(out, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		if set {
			out = append(out, kv)
		}
	}
	return out
}
