package bench

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// median returns the middle of the measured durations.
func median(d []time.Duration) time.Duration { return quantile(d, 50) }

func quantile(d []time.Duration, percent int) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[min(len(d)-1, len(d)*percent/100)]
}

// report reports a measurement and its ratio to the floor.
func report(b *testing.B, ours, floor []time.Duration) {
	b.ReportMetric(0, "ns/op") // it means nothing here
	b.ReportMetric(float64(median(ours).Microseconds()), "ours-p50-µs")
	b.ReportMetric(float64(median(floor).Microseconds()), "floor-p50-µs")
	b.ReportMetric(float64((median(ours)-median(floor)).Nanoseconds())/1000, "more-µs")
	b.ReportMetric(float64(quantile(ours, 95))/float64(quantile(floor, 95)), "p95-ratio")
	b.ReportMetric(float64(median(ours))/float64(median(floor)), "p50-ratio")
}

// inRow is how often a contender runs in a row before the other one does: work
// that it puts off then slows down its own next run and not the other's.
const inRow = 10

// turns lets both run in turn, row times in a row, and reports.
func turns(b *testing.B, row int, ours, floor func() time.Duration) {
	b.Helper()
	inRows(b, func() []time.Duration { return repeat(row, ours) }, func() []time.Duration { return repeat(row, floor) })
}

func repeat(n int, one func() time.Duration) (took []time.Duration) {
	for range n {
		took = append(took, one())
	}
	return took
}

// inRows is turns for contenders that do a whole row themselves. The one that
// begins changes with each turn.
func inRows(b *testing.B, ours, floor func() []time.Duration) {
	b.Helper()
	var o, f []time.Duration
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			o = append(o, ours()...)
			f = append(f, floor()...)
		} else {
			f = append(f, floor()...)
			o = append(o, ours()...)
		}
	}
	report(b, o, f)
}

// strengths are the sandbox settings that are measured.
var strengths = []struct {
	name string
	env  []string
}{
	{"off", []string{"TIPSTAFF_SANDBOX=off"}},
	{"landlock", []string{"TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=landlock"}},
	{"namespaces", []string{"TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=namespaces"}},
}

// BenchmarkCall: execute_process true over stdio, one at a time. Budgets: p50
// at most 1.08 × the floor without a sandbox, 1.15 × in one.
func BenchmarkCall(b *testing.B) {
	for _, strength := range strengths {
		b.Run(strength.name, func(b *testing.B) {
			ours, floor := start(b, "tipstaff", strength.env...), start(b, "floor")
			for range 20 {
				ours.call(b, "true")
				floor.call(b, "true")
			}
			turns(b, inRow, func() time.Duration { return ours.call(b, "true") }, func() time.Duration { return floor.call(b, "true") })
		})
	}
}

// BenchmarkThroughput16: how long 160 calls take, 16 in flight.
// Budget: at least 0.95 × the floor's throughput.
func BenchmarkThroughput16(b *testing.B) {
	ours, floor := start(b, "tipstaff"), start(b, "floor")
	compareBursts(b, "calls/s",
		contender(func() { ours.call(b, "true") }),
		contender(func() { floor.call(b, "true") }))
}

// listing is the input of a client that lists the tools.
const listing = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

// BenchmarkStart: from the start of the process to the answer of tools/list.
// Budget: at most 2.5 × the floor.
func BenchmarkStart(b *testing.B) {
	once := func(name string) time.Duration {
		cmd := command(b, name)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		began := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		_, _ = io.WriteString(in, listing)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				b.Fatalf("%s: %v", name, err)
			}
			if strings.Contains(line, `"id":2`) {
				break
			}
		}
		took := time.Since(began)
		_ = in.Close()
		_ = cmd.Wait()
		return took
	}
	once("tipstaff")
	once("floor")
	turns(b, 1, func() time.Duration { return once("tipstaff") }, func() time.Duration { return once("floor") })
}

// BenchmarkIdleMemory: resident after one call and a moment of rest.
// Budget: at most 2.5 × the floor.
func BenchmarkIdleMemory(b *testing.B) {
	var o, f int64
	for b.Loop() {
		ours, floor := start(b, "tipstaff"), start(b, "floor")
		ours.call(b, "true")
		floor.call(b, "true")
		o, _ = ours.resident(b)
		f, _ = floor.resident(b)
		_ = ours.session.Close()
		_ = floor.session.Close()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(o)/1e6, "ours-MB")
	b.ReportMetric(float64(f)/1e6, "floor-MB")
	b.ReportMetric(float64(o)/float64(f), "memory-ratio")
}

const floodBytes = 1 << 30

// BenchmarkDrain: 1 GiB of output through the server, against cat draining the
// same pipe to nowhere. Budget: at least half its speed, and peak memory less
// than 64 MB above idle.
func BenchmarkDrain(b *testing.B) {
	ours := start(b, "tipstaff")
	ours.call(b, "true")
	idle, _ := ours.resident(b)
	var o, f []time.Duration
	for b.Loop() {
		o = append(o, ours.call(b, "head", "-c", "1073741824", "/dev/zero"))
		f = append(f, throughCat(b))
	}
	_, peak := ours.resident(b)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(floodBytes/median(o).Seconds()/1e9, "ours-GB/s")
	b.ReportMetric(floodBytes/median(f).Seconds()/1e9, "cat-GB/s")
	b.ReportMetric(float64(median(f))/float64(median(o)), "speed-ratio")
	b.ReportMetric(float64(peak-idle)/1e6, "peak-above-idle-MB")
}

func throughCat(b *testing.B) time.Duration {
	cmd := exec.CommandContext(context.Background(), "sh", "-c", "head -c 1073741824 /dev/zero | cat >/dev/null")
	began := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
