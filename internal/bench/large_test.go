//go:build linux

package bench

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/sandbox"
)

// BenchmarkStartInALargeServer: start and reap of /bin/true in a process with
// 2 GiB resident, against one with 50 MB, without a sandbox and in both tiers. The
// two take turns start by start, which one process could not do with itself.
// Budget: within 5 %.
func BenchmarkStartInALargeServer(b *testing.B) {
	b.Run("unconfined", func(b *testing.B) { largeAgainstSmall(b, "") })
	eachTier(b, func(b *testing.B, c *confined) { largeAgainstSmall(b, c.box.Status().Tier) })
}

func largeAgainstSmall(b *testing.B, tier string) {
	small, large := sized(b, 40<<20, tier), sized(b, 2<<30, tier)
	for range 100 {
		small.start()
		large.start()
	}
	var s, l []time.Duration
	for b.Loop() {
		if len(s)%2 == 0 {
			s = append(s, small.start())
			l = append(l, large.start())
		} else {
			l = append(l, large.start())
			s = append(s, small.start())
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(small.resident)/1e6, "small-MB")
	b.ReportMetric(float64(large.resident)/1e6, "large-MB")
	b.ReportMetric(float64(median(s).Microseconds()), "small-p50-µs")
	b.ReportMetric(float64(median(l).Microseconds()), "large-p50-µs")
	b.ReportMetric(float64(quantile(l, 95))/float64(quantile(s, 95)), "p95-ratio")
	b.ReportMetric(float64(median(l))/float64(median(s)), "large-to-small-ratio")
}

// sizedProcess is this test binary again, with so much memory in use. It
// starts and reaps a program whenever it is asked to.
type sizedProcess struct {
	b        *testing.B
	resident int64
	ask      io.Writer
	answer   *bufio.Reader
}

func sized(b *testing.B, bytes int, tier string) *sizedProcess {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperSizedProcess$")
	cmd.Env = append(os.Environ(), sizeVariable+"="+strconv.Itoa(bytes), tierVariable+"="+tier)
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
	p := &sizedProcess{b: b, ask: in, answer: bufio.NewReader(out)}
	p.start() // when it answers, its memory is in use
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil || kib<<10 < int64(bytes) {
		b.Fatalf("%d KiB are resident of %d bytes, %v", kib, bytes, err)
	}
	p.resident = kib << 10
	return p
}

// start lets the process start and reap once, and gives how long that took it.
func (p *sizedProcess) start() time.Duration {
	p.b.Helper()
	if _, err := p.ask.Write([]byte{1}); err != nil {
		p.b.Fatal(err)
	}
	var took int64
	if err := binary.Read(p.answer, binary.LittleEndian, &took); err != nil {
		p.b.Fatal(err)
	}
	return time.Duration(took)
}

const (
	sizeVariable = "TIPSTAFF_BENCH_SIZE"
	tierVariable = "TIPSTAFF_BENCH_TIER" // empty: unconfined
)

// TestHelperSizedProcess is the process of sized: it answers each byte with a
// duration, until its input ends.
func TestHelperSizedProcess(t *testing.T) {
	bytes, err := strconv.Atoi(os.Getenv(sizeVariable))
	if err != nil {
		t.Skip("it is run by a benchmark")
	}
	ballast := make([]byte, bytes)
	for i := 0; i < len(ballast); i += os.Getpagesize() {
		ballast[i] = 1
	}
	start := newStarter(t).bare
	for _, tier := range []sandbox.Tier{sandbox.Landlock, sandbox.Namespaces} {
		if tier.String() == os.Getenv(tierVariable) {
			c := newConfined(t, tier)
			start = func(t testing.TB) time.Duration { return c.run(t, "/bin/true") }
		}
	}
	for asked := make([]byte, 1); ; {
		if _, err := io.ReadFull(os.Stdin, asked); err != nil {
			break
		}
		if err := binary.Write(os.Stdout, binary.LittleEndian, int64(start(t))); err != nil {
			break
		}
	}
	runtime.KeepAlive(ballast)
}
