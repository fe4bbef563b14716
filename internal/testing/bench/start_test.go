//go:build linux

package bench

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tipstaff/internal/proc"
)

// starter starts /bin/true with our engine.
type starter struct {
	engine *proc.Engine
	dir    *os.File
}

func newStarter(b testing.TB) *starter {
	b.Helper()
	engine, err := proc.NewEngine(proc.Options{})
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.Open("/")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = dir.Close(); _ = engine.Close() })
	return &starter{engine: engine, dir: dir}
}

// ours starts it with both outputs in pipes that are read to their end.
func (s *starter) ours(b testing.TB) time.Duration {
	began := time.Now()
	var bufs [2]bytes.Buffer
	var readers, writers [2]*os.File
	for i := range readers {
		r, w, err := proc.Pipe(true)
		if err != nil {
			b.Fatal(err)
		}
		readers[i], writers[i] = r, w
	}
	p, err := s.engine.Start(proc.Launch{Path: "/bin/true", Argv: []string{"true"}, Dir: s.dir.Fd(), Stdout: writers[0], Stderr: writers[1]})
	if err != nil {
		b.Fatal(err)
	}
	_ = writers[0].Close()
	_ = writers[1].Close()
	var reading sync.WaitGroup
	for i := range readers {
		reading.Go(func() { _, _ = io.Copy(&bufs[i], readers[i]); _ = readers[i].Close() })
	}
	if st := p.Status(); st.ExitCode != 0 {
		b.Fatal(st)
	}
	p.End(0)
	reading.Wait()
	return time.Since(began)
}

// osExec does what [starter.ours] does.
func osExec(b testing.TB, attr *syscall.SysProcAttr) time.Duration {
	began := time.Now()
	var out, err bytes.Buffer
	cmd := &exec.Cmd{Path: "/bin/true", Args: []string{"true"}, Env: []string{}, Dir: "/", Stdout: &out, Stderr: &err, SysProcAttr: attr}
	if e := cmd.Run(); e != nil {
		b.Fatal(e)
	}
	return time.Since(began)
}

// BenchmarkStartToReap: /bin/true against os/exec with the same pipes and
// buffers: os/exec as it is, and os/exec with the new session and the
// parent-death signal that ours has. (A session costs the kernel a scheduling
// group.) Each works in a process of its own. Budget: at most 1.0 ×.
func BenchmarkStartToReap(b *testing.B) {
	for name, floor := range map[string]string{"plain": "os/exec", "in a session": "os/exec in a session"} {
		b.Run(name, func(b *testing.B) {
			inRows(b, newWorker(b, "engine", 0).row, newWorker(b, floor, 0).row)
		})
	}
}

// BenchmarkStartAgainstC: against a C program that does vfork and exec, without
// pipes. Budget: at most 1.3 ×.
func BenchmarkStartAgainstC(b *testing.B) {
	s := newStarter(b)
	binary := filepath.Join(b.TempDir(), "vfork")
	if out, err := exec.Command("cc", "-O2", "-o", binary, "testdata/vfork.c").CombinedOutput(); err != nil {
		b.Skipf("no C compiler: %v %s", err, out)
	}
	var o, f []time.Duration
	for b.Loop() {
		const batch = 20
		for range batch {
			o = append(o, s.bare(b))
		}
		out, err := exec.Command(binary, strconv.Itoa(batch)).Output()
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			f = append(f, time.Duration(ns))
		}
	}
	report(b, o, f)
}

// bare starts and reaps without pipes.
func (s *starter) bare(b testing.TB) time.Duration {
	began := time.Now()
	p, err := s.engine.Start(proc.Launch{Path: "/bin/true", Argv: []string{"true"}, Dir: s.dir.Fd()})
	if err != nil {
		b.Fatal(err)
	}
	if st := p.Status(); st.ExitCode != 0 {
		b.Fatal(st)
	}
	p.End(0)
	return time.Since(began)
}

// BenchmarkStartParallel16: 16 at a time, ours against os/exec, each in a process
// of its own.
// Budget: at least 1.0 × its throughput.
func BenchmarkStartParallel16(b *testing.B) {
	compareBursts(b, "starts/s", newWorker(b, "engine", 0), newWorker(b, "os/exec", 0))
}

// BenchmarkStartWithManyDescriptors: with 10,000 open, against none.
// Budget: at most 1.5 ×.
func BenchmarkStartWithManyDescriptors(b *testing.B) {
	s := newStarter(b)
	var few, many []time.Duration
	for b.Loop() {
		for range 50 {
			few = append(few, s.bare(b))
		}
		var open []*os.File
		for range 10_000 {
			f, err := os.Open("/dev/null")
			if err != nil {
				b.Skip(err)
			}
			open = append(open, f)
		}
		for range 50 {
			many = append(many, s.bare(b))
		}
		for _, f := range open {
			_ = f.Close()
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(many))/float64(median(few)), "many-to-few-ratio")
}
