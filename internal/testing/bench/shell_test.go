//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// scripts are those with budgets: against bash -c of the same line by
// execute_process, in the same sandbox, with decision and record.
var scripts = []struct {
	name, text string
	rounds     int
}{
	{"a pipe, 0.9", "echo a | wc -c", 200},
	{"three programs, 1.0", "seq 100 | sort -r | head -n 3", 200},
	{"100 programs, 1.6", "for i in $(seq 100); do /bin/true; done", 10},
	{"1 GB, 1.11", "head -c 1000000000 /dev/zero | cat | cat | wc -c", 5},
}

// BenchmarkShell runs scripts by execute_shell and by bash -c in turns. The budgets
// are ratios of the medians, in the names; 1.11 is 0.9 of the throughput.
func BenchmarkShell(b *testing.B) {
	for _, tier := range sessionTiers {
		b.Run(tier.name, func(b *testing.B) {
			s := sessionServer(b, outsideTmp(b), append([]string{"TIPSTAFF_SHELL=write"}, tier.env...)...)
			for _, one := range scripts {
				b.Run(one.name, func(b *testing.B) {
					var ours, bash []time.Duration
					for range b.N {
						for range one.rounds {
							ours = append(ours, s.took(b, "execute_shell", map[string]any{"script": one.text}))
							bash = append(bash, s.took(b, "execute_process", map[string]any{"file": "bash", "args": []string{"-c", one.text}}))
						}
					}
					slices.Sort(ours)
					slices.Sort(bash)
					report := func(d []time.Duration) float64 { return float64(d[len(d)/2].Microseconds()) }
					b.ReportMetric(report(ours), "µs/script")
					b.ReportMetric(report(bash), "µs/bash")
					b.ReportMetric(report(ours)/report(bash), "ratio")
					b.ReportMetric(0, "ns/op")
				})
			}
			b.Run("memory of a waiting script process, 15 MB", func(b *testing.B) {
				s.took(b, "execute_shell", map[string]any{"script": "true"})
				now, _ := resident(b, waiting(b, s))
				b.ReportMetric(float64(now)/1e6, "MB")
				b.ReportMetric(0, "ns/op")
			})
		})
	}
}

// waiting returns the script process that waits for the next script. It is made
// behind the call.
func waiting(tb testing.TB, s *server) int {
	tb.Helper()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		for _, pid := range children(tb, s.cmd.Process.Pid) {
			if strings.Contains(commandLine(pid), "__script-process") {
				return pid
			}
		}
	}
	tb.Fatal("no script process waits")
	return 0
}

// took returns how long a tool took to answer that a command has ended well.
func (s *server) took(tb testing.TB, name string, arguments map[string]any) time.Duration {
	tb.Helper()
	took, text := s.answer(tb, name, arguments)
	if !strings.HasPrefix(text, "exit_code: 0") {
		tb.Fatal(name, arguments, text)
	}
	return took
}

// answer returns how long a tool took to answer, and what.
func (s *server) answer(tb testing.TB, name string, arguments map[string]any) (time.Duration, string) {
	tb.Helper()
	began := time.Now()
	res, err := s.session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	took := time.Since(began)
	if err != nil {
		tb.Fatal(name, arguments, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		tb.Fatal(name, arguments, text)
	}
	return took, text
}

// children returns the processes that a process has made, by any of its threads.
func children(tb testing.TB, pid int) (list []int) {
	tb.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range files {
		data, _ := os.ReadFile(f) // the thread may have ended
		for one := range strings.FieldsSeq(string(data)) {
			if n, err := strconv.Atoi(one); err == nil {
				list = append(append(list, n), children(tb, n)...)
			}
		}
	}
	return list
}

func commandLine(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
	return strings.ReplaceAll(string(data), "\x00", " ")
}
