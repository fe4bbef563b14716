//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// sessionTiers are the tiers with budgets for sessions, and the settings that
// select them.
var sessionTiers = []struct {
	name string
	env  []string
}{
	{"landlock", []string{"TIPSTAFF_SANDBOX_TIER=landlock"}},
	{"namespaces", []string{"TIPSTAFF_SANDBOX_TIER=namespaces"}},
}

// sessionServer starts a server whose workspace and home are both in dir,
// outside of /tmp: a private /tmp makes a sandbox more expensive.
func sessionServer(tb testing.TB, dir string, env ...string) *server {
	tb.Helper()
	for _, name := range []string{"home", "ws"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	return connectTo(tb, sessionCommand(tb, dir, env...))
}

func sessionCommand(tb testing.TB, dir string, env ...string) *exec.Cmd {
	tb.Helper()
	cmd := command(tb, "tipstaff", env...)
	cmd.Dir = filepath.Join(dir, "ws")
	list := filepath.Join(tb.TempDir(), "tools-allow.json")
	if err := os.WriteFile(list, []byte(`["true"]`), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "HOME="+filepath.Join(dir, "home"), "ENABLE_TERMINAL_ACCESS=true", "TERMINAL_ALLOWLIST_PATH="+list, "TERMINAL_MAX_SESSIONS=1000")
	return cmd
}

func connectTo(tb testing.TB, cmd *exec.Cmd) *server {
	tb.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = session.Close()
		kit.WantTier(tb, cmd.Env)
	})
	return &server{cmd: cmd, session: session}
}

// outsideTmp makes a directory that is not in /tmp.
func outsideTmp(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/var/lib", "tipstaff-bench-*") //nolint:usetesting // the default would be in /tmp
	if err != nil {
		tb.Skipf("no directory outside of /tmp: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// tool calls a tool and returns its text.
func (s *server) tool(tb testing.TB, name string, arguments map[string]any) string {
	res, err := s.session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil || res.IsError {
		tb.Fatalf("%s: %v %+v", name, err, res)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// visit is one session: it is made, runs true twice, and is closed.
func (s *server) visit(tb testing.TB, name string) (first, second time.Duration) {
	text := s.tool(tb, "terminal_create_session", map[string]any{"taskId": name, "agentId": name})
	id := sessionID(tb, text)
	run := func() time.Duration {
		began := time.Now()
		if text := s.tool(tb, "terminal_execute_command", map[string]any{"sessionId": id, "command": "true"}); !strings.Contains(text, `"exitCode":0`) {
			tb.Fatal(text)
		}
		return time.Since(began)
	}
	first, second = run(), run()
	s.tool(tb, "terminal_close_session", map[string]any{"sessionId": id})
	return first, second
}

// sessionID finds the id in an answer.
func sessionID(tb testing.TB, text string) string {
	tb.Helper()
	_, rest, found := strings.Cut(text, `"sessionId":`)
	id, _, closed := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), `"`), `"`)
	if !found || !closed {
		tb.Fatalf("no session: %s", text)
	}
	return id
}

// eachSessionTier compares a server in each tier with one that has no sandbox.
func eachSessionTier(b *testing.B, f func(b *testing.B, ours, floor *server)) {
	for _, place := range []string{"outside of tmp", "in tmp"} {
		for _, tier := range sessionTiers {
			b.Run(place+"/"+tier.name, func(b *testing.B) {
				dir := b.TempDir()
				if place != "in tmp" {
					dir = outsideTmp(b)
				}
				f(b, sessionServer(b, dir, tier.env...), sessionServer(b, dir, "TIPSTAFF_SANDBOX=off"))
			})
		}
	}
}

// BenchmarkFirstCommandOfSession: true as the first and as the second command of a
// session, one session after the other. Budget: p50 at most 1.5 × the second.
func BenchmarkFirstCommandOfSession(b *testing.B) {
	eachSessionTier(b, func(b *testing.B, ours, floor *server) {
		var first, second, without []time.Duration
		for i := 0; b.Loop(); i++ {
			f, s := ours.visit(b, strconv.Itoa(i))
			w, _ := floor.visit(b, strconv.Itoa(i))
			first, second, without = append(first, f), append(second, s), append(without, w)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(first).Seconds()*1e3, "first-ms")
		b.ReportMetric(median(second).Seconds()*1e3, "second-ms")
		b.ReportMetric(median(without).Seconds()*1e3, "without-ms")
		b.ReportMetric(float64(median(first))/float64(median(second)), "p50-ratio")
		b.ReportMetric(float64(quantile(first, 95))/float64(quantile(second, 95)), "p95-ratio")
	})
}

// BenchmarkSessions16: sessions of two commands each, sixteen clients at once.
// Budget: at least 0.8 × those of a server without a sandbox.
func BenchmarkSessions16(b *testing.B) {
	eachSessionTier(b, func(b *testing.B, ours, floor *server) {
		compareBursts(b, "sessions/s",
			contender(func() { ours.visit(b, "one") }),
			contender(func() { floor.visit(b, "one") }))
	})
}

// BenchmarkFirstCommandOfServer: from the start of a server to the answer of its
// first command. Budget: p50 at most 2.0 × that of a server without a sandbox.
func BenchmarkFirstCommandOfServer(b *testing.B) {
	for _, tier := range sessionTiers {
		b.Run(tier.name, func(b *testing.B) {
			dir := outsideTmp(b)
			if _, err := built(); err != nil {
				b.Fatal(err)
			}
			once := func(env ...string) time.Duration {
				began := time.Now()
				s := sessionServer(b, dir, env...)
				s.call(b, "true")
				took := time.Since(began)
				_ = s.session.Close()
				return took
			}
			turns(b, 1, func() time.Duration { return once(tier.env...) }, func() time.Duration { return once("TIPSTAFF_SANDBOX=off") })
		})
	}
}

// BenchmarkCallsOfSession: how many more system calls a session that runs true
// twice makes than without a sandbox; those of Go's runtime do not count.
// Budget: at most 400.
func BenchmarkCallsOfSession(b *testing.B) {
	if _, err := exec.LookPath("strace"); err != nil {
		b.Skip("system calls are counted by strace: ", err)
	}
	for _, tier := range sessionTiers {
		b.Run(tier.name, func(b *testing.B) {
			dir := outsideTmp(b)
			var with, without float64
			for b.Loop() {
				with, without = callsOfSession(b, dir, tier.env...), callsOfSession(b, dir, "TIPSTAFF_SANDBOX=off")
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(with, "calls/session")
			b.ReportMetric(without, "calls-without/session")
			b.ReportMetric(with-without, "calls-more/session")
		})
	}
}

// callsOfSession returns the difference between servers with few and with many
// sessions, for each session.
func callsOfSession(b *testing.B, dir string, env ...string) float64 {
	b.Helper()
	const few, many = 20, 60
	return float64(callsOfSessions(b, many, dir, env...)-callsOfSessions(b, few, dir, env...)) / (many - few)
}

// ofRuntime are calls of Go's scheduler, whose number depends on the load of
// the machine.
var ofRuntime = map[string]bool{
	"futex": true, "nanosleep": true, "tgkill": true, "epoll_pwait": true, "sched_yield": true, "rt_sigreturn": true, "getpid": true,
	"madvise": true, "restart_syscall": true,
}

// callsOfSessions counts the system calls of a server with this number of
// sessions.
func callsOfSessions(b *testing.B, sessions int, dir string, env ...string) (calls int) {
	b.Helper()
	for _, name := range []string{"home", "ws"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	cmd := sessionCommand(b, dir, env...)
	counts := filepath.Join(b.TempDir(), "counts")
	cmd.Args = append([]string{"strace", "-f", "-c", "-U", "calls,name", "-o", counts, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, _ = exec.LookPath("strace")
	s := connectTo(b, cmd)
	s.call(b, "true")
	for i := range sessions {
		s.visit(b, strconv.Itoa(i))
	}
	_ = s.session.Close()
	text, err := os.ReadFile(counts)
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var n int
		var name string
		if _, err := fmt.Sscan(line, &n, &name); err == nil && !ofRuntime[name] && name != "total" {
			calls += n
		}
	}
	if calls == 0 {
		b.Skipf("strace counted nothing: %s", text)
	}
	return calls
}
