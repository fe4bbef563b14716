//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tipstaff/internal/sandbox"
	"tipstaff/internal/sandbox/guard"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// guardVariable tells a helper process what to do.
const guardVariable = "TIPSTAFF_BENCH_GUARD"

const (
	acceptedText = "[core]\n\tbare = false\n"
	plantedText  = acceptedText + "\tfsmonitor = evil\n"
)

// clock is a time that is the same in all processes.
func clock() int64 { return time.Now().UnixNano() }

// TestHelperBesideTheGuard is a process that runs beside a guard. It either
// plants a text whenever it is asked and reports the time, or keeps a processor
// busy, or polls a file and reports how often it saw the text.
func TestHelperBesideTheGuard(t *testing.T) {
	file := os.Getenv("TIPSTAFF_BENCH_FILE")
	switch os.Getenv(guardVariable) {
	case "attack":
		for i := 0; ; i++ {
			if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
				return
			}
			_ = binary.Write(os.Stdout, binary.NativeEndian, plantIn(file, i%2 == 0))
		}
	case "busy":
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
		for x := 0; ; x++ {
			_ = x
		}
	case "poll":
		var over atomic.Bool
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); over.Store(true) }()
		spells, there := 0, false
		for !over.Load() {
			data, err := os.ReadFile(file)
			now := err == nil && bytes.Contains(data, []byte("evil"))
			if now && !there {
				spells++
			}
			there = now
		}
		fmt.Println(spells)
	default:
		t.Skip("it is run by benchmarks")
	}
}

// plantIn writes the text, by a rename or in place.
func plantIn(file string, moved bool) int64 {
	if moved {
		_ = os.WriteFile(file+".x", []byte(plantedText), 0o600)
		began := clock()
		_ = os.Rename(file+".x", file)
		return began
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	began := clock()
	_, _ = f.WriteString("\tfsmonitor = evil\n")
	return began
}

// beside starts such a process; it ends when in is closed.
func beside(b *testing.B, what, file string) (in io.WriteCloser, out *bufio.Reader) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperBesideTheGuard$")
	cmd.Env = append(os.Environ(), guardVariable+"="+what, "TIPSTAFF_BENCH_FILE="+file, "GOMAXPROCS=2")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _, _ = io.Copy(io.Discard, pipe); _ = cmd.Wait() })
	return in, bufio.NewReader(pipe)
}

// BenchmarkPutBack: the time from an unsafe write until it is put back, with a
// guard of 500 repositories, beside busy processes and goroutines; and how many
// attacks a polling process sees. Budget: 1 ms with nothing else running, 10 ms
// under full load (p99).
func BenchmarkPutBack(b *testing.B) {
	for _, c := range []struct {
		says                        string
		processes, goroutines, poll int
	}{{"idle", 0, 0, 0}, {"4-busy-processes", 4, 0, 0}, {"2-busy-goroutines", 0, 2, 0}, {"poller", 0, 0, 1}} {
		b.Run(c.says, func(b *testing.B) {
			root, file := guardedRepositories(b)
			// As the server does.
			before := runtime.GOMAXPROCS(runtime.NumCPU() + 1)
			b.Cleanup(func() { runtime.GOMAXPROCS(before) })
			for range c.processes {
				beside(b, "busy", "")
			}
			var over atomic.Bool
			b.Cleanup(func() { over.Store(true) })
			for range c.goroutines {
				go func() {
					for x := 0; !over.Load(); x++ {
						_ = x
					}
				}()
			}
			var seen *bufio.Reader
			var polls io.WriteCloser
			if c.poll > 0 {
				polls, seen = beside(b, "poll", file)
			}
			took := putBacks(b, root, file)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(median(took).Microseconds()), "p50-µs")
			b.ReportMetric(float64(quantile(took, 99).Microseconds()), "p99-µs")
			if c.poll == 0 {
				return
			}
			_ = polls.Close()
			line, _ := seen.ReadString('\n')
			n, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(n)/float64(len(took)), "seen-share")
		})
	}
}

// guardedRepositories makes 500, and returns the configuration file of one of
// them.
func guardedRepositories(b *testing.B) (root *guardedRoot, file string) {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	g, err := guard.New(guard.Options{Aside: dir + "/aside"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = g.Close() })
	root = &guardedRoot{g, dir + "/ws"}
	var items []guard.Item
	for i := range 500 {
		repo := root.dir + "/" + strconv.Itoa(i) + "/.git"
		if err := os.MkdirAll(repo+"/hooks", 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(repo+"/config", []byte(acceptedText), 0o600); err != nil {
			b.Fatal(err)
		}
		items = append(items, guard.Repository(repo, false)...)
	}
	g.Protect(root.dir, items)
	return root, root.dir + "/77/.git/config"
}

type guardedRoot struct {
	*guard.Guard
	dir string
}

// putBacks measures 200 attacks in each iteration.
func putBacks(b *testing.B, root *guardedRoot, file string) (took []time.Duration) {
	b.Helper()
	ask, answer := beside(b, "attack", file)
	for b.Loop() {
		for range 200 {
			done := make(chan int64, 64)
			c := root.Begin([]string{root.dir}, func(string) bool { return false }, func() {
				select {
				case done <- clock():
				default:
				}
			})
			if _, err := ask.Write([]byte{1}); err != nil {
				b.Fatal(err)
			}
			var began int64
			if err := binary.Read(answer, binary.NativeEndian, &began); err != nil {
				b.Fatal(err)
			}
			ended := <-done
			c.End()
			took = append(took, time.Duration(ended-began))
			if data, err := os.ReadFile(file); err != nil || string(data) != acceptedText {
				b.Fatalf("%v, %q", err, data)
			}
		}
	}
	return took
}

// BenchmarkRename: 20,000 renames of a file by a confined command, with and
// without the filter that asks about them. Budget: at most 30 µs more for each.
func BenchmarkRename(b *testing.B) {
	binary, err := os.ReadFile(testcmdtest.Build(b))
	if err != nil {
		b.Fatal(err)
	}
	const times = 20_000
	renames := func(c *confined) time.Duration {
		testcmd := c.ws + "/testcmd"
		if err := os.WriteFile(testcmd, binary, 0o700); err != nil {
			b.Fatal(err)
		}
		return c.run(b, testcmd, "renames", strconv.Itoa(times), c.ws+"/x") / times
	}
	asked, unasked := besideUnguarded(b)
	var o, f []time.Duration
	for b.Loop() {
		o, f = append(o, renames(asked)), append(f, renames(unasked))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(o).Nanoseconds())/1000, "asked-µs")
	b.ReportMetric(float64(median(f).Nanoseconds())/1000, "unasked-µs")
	b.ReportMetric(float64((median(o)-median(f)).Nanoseconds())/1000, "more-µs")
}

// besideUnguarded returns two sandboxes in namespaces, the second without a
// guard.
func besideUnguarded(b *testing.B) (with, without *confined) {
	b.Helper()
	return newConfined(b, sandbox.Namespaces), newConfined(b, sandbox.Namespaces, func(o *sandbox.Options) { o.Unguarded = true })
}

// BenchmarkGuardedCheckout: git checkout between two commits in which 10,000 files
// differ, with the guard and without. Budget: at most 1.05 ×.
func BenchmarkGuardedCheckout(b *testing.B) {
	with, without := besideUnguarded(b)
	for _, c := range []*confined{with, without} {
		c.furnish(b, "checkout")
	}
	there := map[*confined]bool{}
	checkout := func(c *confined) time.Duration {
		there[c] = !there[c]
		to := map[bool]string{true: "other", false: "first"}[there[c]]
		return c.run(b, "/usr/bin/git", "-C", "repo", "checkout", "-q", to)
	}
	turns(b, 2, func() time.Duration { return checkout(with) }, func() time.Duration { return checkout(without) })
}
