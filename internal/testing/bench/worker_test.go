//go:build linux

package bench

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"tipstaff/internal/sandbox"
)

// worker runs this test binary as a separate process in which one contender
// works on request. In one process, contenders would share what each of them
// keeps: descriptors, threads, zygotes.
type worker struct {
	b      *testing.B
	pid    int
	ask    io.Writer
	answer *bufio.Reader
}

// works are the kinds of work: each sets itself up and returns what is run
// once.
var works = map[string]func(t testing.TB) func() time.Duration{
	"engine": func(t testing.TB) func() time.Duration {
		s := newStarter(t)
		return func() time.Duration { return s.ours(t) }
	},
	"engine without pipes": func(t testing.TB) func() time.Duration {
		s := newStarter(t)
		return func() time.Duration { return s.bare(t) }
	},
	"os/exec":                   byOSExec(nil),
	"os/exec in a session":      byOSExec(&syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}),
	sandbox.Landlock.String():   inTier(sandbox.Landlock),
	sandbox.Namespaces.String(): inTier(sandbox.Namespaces),
}

func byOSExec(attr *syscall.SysProcAttr) func(t testing.TB) func() time.Duration {
	return func(t testing.TB) func() time.Duration {
		return func() time.Duration { return osExec(t, attr) }
	}
}

func inTier(tier sandbox.Tier) func(t testing.TB) func() time.Duration {
	return func(t testing.TB) func() time.Duration {
		c := newConfined(t, tier)
		return func() time.Duration { return c.run(t, "/bin/true") }
	}
}

// newWorker starts a worker that also keeps ballast bytes of memory in use.
func newWorker(b *testing.B, work string, ballast int) *worker {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperWorker$")
	cmd.Env = append(os.Environ(), workVariable+"="+work, ballastVariable+"="+strconv.Itoa(ballast))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	w := &worker{b: b, pid: cmd.Process.Pid, ask: in, answer: bufio.NewReader(out)}
	if err := binary.Read(w.answer, binary.LittleEndian, new(int64)); err != nil {
		b.Fatalf("no worker for %s: %v", work, err)
	}
	if got := w.resident(); got < int64(ballast) {
		b.Fatalf("%d bytes are resident of %d", got, ballast)
	}
	return w
}

// The requests to a worker.
const (
	aRow   = 'r'
	aBurst = 'b'
)

// row has the work run several times in a row, and returns how long each run
// took.
func (w *worker) row() []time.Duration { return w.order(aRow, inRow) }

// burst has a burst run, and returns how long it took.
func (w *worker) burst() time.Duration { return w.order(aBurst, 1)[0] }

func (w *worker) order(what byte, answers int) []time.Duration {
	w.b.Helper()
	if _, err := w.ask.Write([]byte{what}); err != nil {
		w.b.Fatal(err)
	}
	took := make([]int64, answers)
	if err := binary.Read(w.answer, binary.LittleEndian, took); err != nil {
		w.b.Fatal(err)
	}
	all := make([]time.Duration, answers)
	for i := range took {
		all[i] = time.Duration(took[i])
	}
	return all
}

// resident returns the worker's resident memory in bytes.
func (w *worker) resident() int64 {
	w.b.Helper()
	now, _ := resident(w.b, w.pid)
	return now
}

const (
	workVariable    = "TIPSTAFF_BENCH_WORK"
	ballastVariable = "TIPSTAFF_BENCH_BALLAST"
)

// TestHelperWorker is the process of a worker. It prints a duration when it is
// ready, and then the requested measurements, until its input ends.
func TestHelperWorker(t *testing.T) {
	work, ok := works[os.Getenv(workVariable)]
	if !ok {
		t.Skip("it is run by benchmarks")
	}
	size, _ := strconv.Atoi(os.Getenv(ballastVariable))
	ballast := make([]byte, size)
	for i := 0; i < len(ballast); i += os.Getpagesize() {
		ballast[i] = 1
	}
	once := work(t)
	together := contender(func() { once() })
	took := []int64{int64(together.burst())}
	for asked := make([]byte, 1); ; {
		if err := binary.Write(os.Stdout, binary.LittleEndian, took); err != nil {
			break
		}
		if _, err := io.ReadFull(os.Stdin, asked); err != nil {
			break
		}
		took = took[:0]
		if asked[0] == aBurst {
			took = append(took, int64(together.burst()))
			continue
		}
		for _, one := range repeat(inRow, once) {
			took = append(took, int64(one))
		}
	}
	runtime.KeepAlive(ballast)
}
