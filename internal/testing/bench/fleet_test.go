package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

// BenchmarkCallOverAFleet: execute_process true over HTTP, through a gateway, one
// NATS server on this machine and a runner, against a server that runs it itself.
// Budget: the difference at p50 is at most 600 µs.
func BenchmarkCallOverAFleet(b *testing.B) {
	far, near := startFleet(b, "TIPSTAFF_SANDBOX=off"), startHTTP(b, "tipstaff", "TIPSTAFF_SANDBOX=off").connect(b, "2026-07-28")
	for range 20 {
		far.call(b, "true")
		near.call(b, "true")
	}
	var over, local []time.Duration
	for b.Loop() {
		over = append(over, repeat(inRow, func() time.Duration { return far.call(b, "true") })...)
		local = append(local, repeat(inRow, func() time.Duration { return near.call(b, "true") })...)
	}
	b.ReportMetric(0, "ns/op") // it means nothing here
	b.ReportMetric(float64(median(over).Microseconds()), "fleet-p50-µs")
	b.ReportMetric(float64(median(local).Microseconds()), "alone-p50-µs")
	b.ReportMetric(float64((median(over) - median(local)).Microseconds()), "difference-µs")
}

// BenchmarkOutputOverAFleet: a command that prints 50 MB, by the same two ways. The
// output stays on the runner, and its end crosses with the answer. Budget: at least
// 0.5 × the local speed.
func BenchmarkOutputOverAFleet(b *testing.B) {
	far, near := startFleet(b, "TIPSTAFF_SANDBOX=off"), startHTTP(b, "tipstaff", "TIPSTAFF_SANDBOX=off").connect(b, "2026-07-28")
	var over, local []time.Duration
	for b.Loop() {
		over = append(over, far.call(b, "head", "-c", "50000000", "/dev/zero"))
		local = append(local, near.call(b, "head", "-c", "50000000", "/dev/zero"))
	}
	b.ReportMetric(0, "ns/op") // it means nothing here
	b.ReportMetric(float64(median(local))/float64(median(over)), "×")
	b.ReportMetric(float64(median(over).Milliseconds()), "fleet-ms")
}

// startFleet starts a runner and a gateway, and returns a client of the gateway when
// the first call has been carried out.
func startFleet(b *testing.B, env ...string) *server {
	b.Helper()
	dir := b.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
		return path
	}
	seed, public, err := natsx.NewKey()
	if err != nil {
		b.Fatal(err)
	}
	env = append(env, "TIPSTAFF_ENGINE="+enginetest.Start(b).URL(), "TIPSTAFF_ENGINE_SEAL="+file("seal", strings.Repeat("s", 32)))

	runner := command(b, "tipstaff", append(env, "TIPSTAFF_RUNNER_NAME=r1", "TIPSTAFF_ENGINE_GATEWAYS="+file("gateways", fmt.Sprintln(public, "g1")))...)
	runner.Args[1] = "runner"
	log, err := runner.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := runner.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = runner.Process.Signal(syscall.SIGTERM)
		_ = runner.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "this runner takes commands") {
	}
	go func() {
		for lines.Scan() { // so that the runner never waits for its log
		}
	}()

	gateway := startHTTP(b, "tipstaff", append(env, "TIPSTAFF_GATEWAY_NAME=g1", "TIPSTAFF_ENGINE_KEY="+file("key", seed))...).connect(b, "2026-07-28")
	for end := time.Now().Add(30 * time.Second); ; {
		res, err := gateway.session.CallTool(b.Context(), &mcp.CallToolParams{Name: "execute_process", Arguments: map[string]any{"file": "true"}})
		if err == nil && !res.IsError {
			return gateway
		}
		if time.Now().After(end) {
			b.Fatalf("no runner takes a call: %v %+v", err, res)
		}
	}
}
