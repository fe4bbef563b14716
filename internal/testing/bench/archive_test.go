//go:build linux

package bench

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/audit/retention"
	"tipstaff/internal/audit/seekable"
)

// archiveTrail is how much the trail of one server has, uncompressed.
const archiveTrail = 128 << 20

// years is a directory of trails of which all lies in an archive.
type years struct {
	dir, to string
	bytes   int64 // uncompressed
	stored  int64
	trails  int
}

// newYears writes trails as a server writes them and archives each, until there are so
// many bytes. One command in a hundred thousand is agent-9's.
func newYears(b *testing.B, bytes int64) *years {
	b.Helper()
	root := b.TempDir()
	y := &years{dir: filepath.Join(root, "audit"), to: filepath.Join(root, "archive")}
	began := time.Date(2016, 1, 2, 3, 4, 5, 0, time.UTC) // trails of the future are not archived
	var commands int
	for y.bytes < bytes {
		before := y.trails
		var wait sync.WaitGroup
		written := make([]error, 2) // one for each processor of the machine that the figures are from
		for i := range written {
			at, first := began.Add(time.Duration(y.trails+i)*10*24*time.Hour), commands
			commands += archiveTrail / 1800
			wait.Go(func() { written[i] = writeYear(y.dir, at, first) })
		}
		wait.Wait()
		if err := errors.Join(written...); err != nil {
			b.Fatal(err)
		}
		err := retention.Archive(b.Context(), retention.Options{Dir: y.dir, Trails: retention.Bounds{Age: 1}, By: "a benchmark"}, y.to, func(m audit.Moved) {
			y.bytes, y.stored, y.trails = y.bytes+m.Bytes, y.stored+m.Stored, y.trails+1
		})
		if err != nil || y.trails == before {
			b.Fatalf("%d trails were archived: %v", y.trails-before, err)
		}
	}
	return y
}

// writeYear writes the trail of one server: a command a second.
func writeYear(dir string, at time.Time, first int) error {
	var mu sync.Mutex
	trail, err := audit.Create(dir, audit.Options{OSUser: "agent", Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Millisecond / 4)
		return at
	}})
	if err != nil {
		return err
	}
	programs := [][]string{{"git", "status", "--short"}, {"npm", "run", "build"}, {"ls", "-la", "/srv/work/project/src"}, {"rg", "-n", "TODO", "internal"}, {"go", "test", "./..."}, {"cat", "README.md"}}
	var failed error
	put := func(r audit.Record) { failed = errors.Join(failed, trail.Append(r)) }
	put(audit.Record{Event: audit.ServerStart})
	for n := first; n < first+archiveTrail/1800 && failed == nil; n++ {
		argv := append(append([]string{}, programs[n%len(programs)]...), strconv.Itoa(n))
		r := audit.Record{
			Event:    audit.CommandStart,
			Who:      audit.Who{Front: "stdio", Principal: "local", Client: "claude-code/2.1", Agent: "planner", Task: "t-" + strconv.Itoa(n/50)},
			What:     audit.What{Tool: "execute_command", Argv: argv, File: "/usr/bin/" + argv[0], Cwd: "/srv/work/project", EnvNames: []string{"HOME", "LANG", "PATH", "TERM", "USER"}},
			Decision: audit.Decision{Action: "allow", Rule: "allowlist", At: "ALLOWED_COMMANDS", PolicySHA256: "0c5d2f1e4b3a69788796a5b4c3d2e1f00c5d2f1e4b3a69788796a5b4c3d2e1f0"},
			Sandbox:  audit.Sandbox{Tier: "namespaces", Profile: "workspace", Network: "on"},
		}
		if n%100_000 == 50_000 {
			r.Who.Agent = "agent-9"
		}
		r.Trace.CommandID = tipstaff.RequestID("cmd_" + rand.Text())
		put(r)
		r.Event = audit.CommandEnd
		r.Result = &audit.Result{Cause: "exited", ExitCode: n % 7 / 6, DurationMS: int64(n % 900), StdoutBytes: int64(n % 5000)}
		put(r)
	}
	put(audit.Record{Event: audit.ServerStop})
	return errors.Join(failed, trail.Close())
}

// unpack reads what the archive has of records, and does nothing with it: the floor.
func (y *years) unpack() error {
	return filepath.WalkDir(y.to, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != seekable.Extension {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		in, err := seekable.NewReader(f, info.Size())
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		return err
	})
}

// processor is the time that the process has used on all processors.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkArchive verifies and searches archived trails, of TIPSTAFF_BENCH_ARCHIVE as
// a size (make bench-archive: 10GiB), else of 256 MiB. It needs an eighth of that on
// the disk of the temporary directory, and 300 MiB.
func BenchmarkArchive(b *testing.B) {
	bytes, err := retention.ParseBytes(cmp.Or(os.Getenv("TIPSTAFF_BENCH_ARCHIVE"), "256MiB"))
	if err != nil {
		b.Fatalf("TIPSTAFF_BENCH_ARCHIVE: %v", err)
	}
	y := newYears(b, bytes)
	b.Logf("%d trails, %d bytes in %d", y.trails, y.bytes, y.stored)
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // from here on the peak counts
		b.Fatal(err)
	}
	measure := func(name string, do func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(y.bytes)
			before := processor(b)
			for b.Loop() {
				do(b)
			}
			b.ReportMetric((processor(b)-before).Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(memory(b, "VmHWM"))/(1<<20), "peak-MiB")
		})
	}
	measure("unpack and nothing else", func(b *testing.B) {
		if err := y.unpack(); err != nil {
			b.Fatal(err)
		}
	})
	measure("verify", func(b *testing.B) {
		report, err := audit.Verify(y.dir, audit.VerifyOptions{})
		if err != nil || report.Status() != audit.OK || len(report.Trails) != y.trails {
			b.Fatalf("%d trails: %s, %v", len(report.Trails), report.Status(), err)
		}
	})
	trails, err := query.Find(y.dir)
	if err != nil {
		b.Fatal(err)
	}
	latest, _, err := query.Last(b.Context(), trails, &query.Filter{}, 1000)
	if err != nil || len(latest) != 1000 {
		b.Fatal(len(latest), err)
	}
	for _, c := range []struct {
		name   string
		filter query.Filter
	}{
		{"search an agent", query.Filter{Agent: "agent-9"}},
		{"search an exit code of a program", query.Filter{Cmd: query.Word{Text: "npm"}, Exit: &query.Exit{Code: 99}}},
		{"search since the last 1000 records", query.Filter{Since: latest[0].Record.Time}},
	} {
		measure(c.name, func(b *testing.B) {
			found := 0
			tally, err := query.Read(b.Context(), trails, &c.filter, func(*query.Line) error { found++; return nil })
			if err != nil || found == 0 && c.filter.Exit == nil {
				b.Fatal(fmt.Errorf("%d found, %+v, %w", found, tally, err))
			}
			b.ReportMetric(float64(found), "found")
		})
	}
	measure("the last 20", func(b *testing.B) {
		if found, _, err := query.Last(b.Context(), trails, &query.Filter{}, 20); err != nil || len(found) != 20 {
			b.Fatal(len(found), err)
		}
	})
}
