//go:build linux

package interp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/script/interp"
)

// interpreting is the argument of this program when it is to interpret a script:
// what is hostile runs in a process of its own, with the bounds of a script process.
const interpreting = "__interpret"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == interpreting {
		os.Exit(interpret(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// fake is a host whose programs write their words. "fail N" ends with N, "refused"
// is refused, "count" only ends, and "in" writes what it reads.
type fake struct {
	mu           sync.Mutex
	words        [][]string // of the first hundred commands
	environments [][]string
	directories  []string
}

func (f *fake) Run(c *interp.Command, started func(interp.Process)) interp.Outcome {
	f.mu.Lock()
	if len(f.words) < 100 {
		f.words = append(f.words, slices.Clone(c.Words))
		f.environments = append(f.environments, slices.Clone(c.Environment))
		f.directories = append(f.directories, c.Directory)
	}
	f.mu.Unlock()
	if started != nil {
		started(number(4711))
	}
	switch out := c.Files[1]; c.Words[0] {
	case "count":
	case "fail":
		n, _ := strconv.Atoi(c.Words[1])
		return interp.Outcome{Code: n}
	case "refused":
		return interp.Outcome{Code: 126, Refused: true, Text: "refused: no"}
	case "in":
		_, _ = io.Copy(out, c.Files[0])
	default:
		_, _ = fmt.Fprintf(out, "%q\n", c.Words)
	}
	return interp.Outcome{}
}

func (*fake) MayWrite(path string) error {
	if strings.HasSuffix(path, "forbidden") {
		return errors.New("not there")
	}
	return nil
}

// number is a process of the fake host.
type number int

func (n number) Number() int { return int(n) }
func (number) Signal(int)    {}

// interpret runs a script as a script process does, and returns its exit code.
func interpret(dir, path string) int {
	debug.SetMaxStack(256 << 20)
	debug.SetMemoryLimit(384 << 20)
	limit := unix.Rlimit{Cur: 1 << 30, Max: 1 << 30}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &limit); err != nil {
		return 99
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 99
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 99
	}
	s, r := interp.Run(interp.Settings{Host: &fake{}, Null: null, Directory: dir, Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}}, string(text))
	if s != nil {
		s.Wait()
	}
	// Its own streams are closed.
	report := os.NewFile(3, "report")
	_, _ = fmt.Fprintln(report, peak())
	if r.Fault != nil {
		_, _ = fmt.Fprintln(report, r.Fault)
	}
	return r.Code
}

// peak is how much this process had resident at most, in MB. What the parent of a
// process is told counts the parent's own in.
func peak() (megabytes int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(rest, &megabytes)
	return megabytes >> 10
}

// outcome is what came of a script in a process of its own.
type outcome struct {
	out, err, fault string
	code            int
	crashed, late   bool
	took            time.Duration
	megabytes       int64 // at most resident
}

// patience is how long a hostile script may take. None takes a tenth of that on a
// machine that does nothing else.
const patience = 30 * time.Second

// hostile runs a script in a process of its own.
func hostile(t *testing.T, text string) outcome { t.Helper(); return hostileFor(t, text, patience) }

func hostileFor(t *testing.T, text string, patience time.Duration) outcome {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], interpreting, dir, path)
	var out, stderr cut
	cmd.Stdout, cmd.Stderr = &out, &stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	cmd.ExtraFiles = []*os.File{w}
	began := time.Now()
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	report, _ := io.ReadAll(io.LimitReader(r, 1<<16))
	megabytes, fault, _ := strings.Cut(string(report), "\n")
	_ = cmd.Wait() // its state says more
	o := outcome{out: out.String(), err: stderr.String(), fault: fault, code: cmd.ProcessState.ExitCode(), late: ctx.Err() != nil, took: time.Since(began)}
	_, _ = fmt.Sscan(megabytes, &o.megabytes) // one that was ended says nothing
	o.crashed = o.code < 0 || strings.Contains(o.err, "goroutine ") || strings.Contains(o.err, "fatal error")
	return o
}

// cut keeps the beginning of what is written to it.
type cut struct{ bytes.Buffer }

func (c *cut) Write(p []byte) (int, error) {
	if room := 64<<10 - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
