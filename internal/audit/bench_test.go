package audit

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tipstaff/internal/redact"
)

func benchRecord() Record {
	r := oneOfEach()[2]
	r.What.Argv = []string{"go", "test", "-race", "-run", "TestSomething", "-count=1", "./internal/..."}
	return r
}

func BenchmarkAppend(b *testing.B) {
	secrets := map[string]string{}
	for i := range 20 {
		secrets[fmt.Sprint("SECRET_", i)] = fmt.Sprintf("some-secret-value-%d-%d", i, i*7919)
	}
	o := Options{Redactor: redact.New(secrets), OSUser: "bob"}
	b.Run("one after the other", func(b *testing.B) {
		trail, r := create(b, o), benchRecord()
		b.ReportAllocs()
		for b.Loop() {
			appendAll(b, trail, r)
		}
	})
	b.Run("at once", func(b *testing.B) {
		trail, r := create(b, o), benchRecord()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := trail.Append(r); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("in memory only", func(b *testing.B) {
		o := o
		o.open = func(string) (file, error) { return nowhere{}, nil }
		trail, r := create(b, o), benchRecord()
		b.ReportAllocs()
		for b.Loop() {
			appendAll(b, trail, r)
		}
	})
}

// nowhere is a file that forgets.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Truncate(int64) error        { return nil }
func (nowhere) Sync() error                 { return nil }
func (nowhere) Close() error                { return nil }

func BenchmarkVerify200000(b *testing.B) {
	path := filepath.Join(b.TempDir(), firstSegment)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(f)
	r := benchRecord()
	members, err := newEncoder().encode(&r)
	if err != nil {
		b.Fatal(err)
	}
	prev := origin()
	var line []byte
	for i := range 200_000 {
		line, prev = link(line[:0], uint64(i+1), time.Unix(int64(i), 0).UTC(), members, prev)
		_, _ = out.Write(line)
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	f.Close()
	b.ReportMetric(float64(len(line)), "bytes/line")
	b.ReportAllocs()
	for b.Loop() {
		if report, err := Verify(path); err != nil || report.Status() != OK {
			b.Fatal(report, err)
		}
	}
}
