package query

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tipstaff/internal/audit"
)

// million writes a trail of a million records, of which one in a hundred
// thousand is agent-9's, and returns its directory and its size. The hashes are
// not right; the benchmark does not check them.
func million(b *testing.B) (dir string, size int64) {
	b.Helper()
	const records, each = 1_000_000, 100_000 // in a segment
	dir = filepath.Join(b.TempDir(), "20260102T030405Z-4711-c0ffee12")
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	sample := bytes.SplitAfter(contents(b, write(b, b.TempDir(), began(), 0, some(7, 2000)...)), []byte("\n"))
	rare := bytes.Split(contents(b, write(b, b.TempDir(), began(), 0, audit.Record{
		Event: audit.CommandStart, Who: audit.Who{Agent: "agent-9"}, What: audit.What{Argv: []string{"git", "status"}}})), []byte("\n"))[0]
	for i := 0; i < records; {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%06d.jsonl", i/each+1)))
		if err != nil {
			b.Fatal(err)
		}
		out := bufio.NewWriterSize(f, 1<<20)
		for range each {
			line := bytes.TrimSuffix(sample[i%2000], []byte("\n"))
			if i%100_000 == 50_000 {
				line = rare
			}
			_, rest, _ := bytes.Cut(line, []byte(`Z",`))
			fmt.Fprintf(out, `{"v":1,"seq":%d,"time":"%s",%s`+"\n", i+1, began().Add(time.Duration(i)*time.Millisecond).Format("2006-01-02T15:04:05.000000000Z07:00"), rest)
			i++
		}
		if err := out.Flush(); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	for _, s := range find(b, dir)[0].Segments {
		size += s.Size
	}
	return dir, size
}

func BenchmarkMillion(b *testing.B) {
	dir, size := million(b)
	trails := find(b, dir)
	b.Logf("%d bytes, %d a line", size, size/1_000_000)
	b.Run("read the files and nothing else", func(b *testing.B) {
		b.SetBytes(size)
		buffer := make([]byte, readBuffer)
		for b.Loop() {
			for _, s := range trails[0].Segments {
				f, err := os.Open(s.Path)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = f.Read(buffer)
				}
				f.Close()
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		}
	})
	for _, c := range []struct {
		name   string
		filter Filter
	}{
		{"an agent", Filter{Agent: "agent-9"}},
		{"a word", Filter{Cmd: Word{Text: "status"}}},
		{"an exit code", Filter{Exit: &Exit{Code: 99}}},
		{"an agent's refusals", Filter{Agent: "agent-9", Denied: true}},
		{"the last second", Filter{Since: began().Add(999 * time.Second)}},
		{"refusals, a quarter of all", Filter{Denied: true}},
		{"every record", Filter{}},
	} {
		b.Run("search "+c.name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			found := 0
			for b.Loop() {
				found = 0
				if _, err := Read(b.Context(), trails, &c.filter, func(*Line) error { found++; return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(found), "found")
		})
	}
	b.Run("the last 20", func(b *testing.B) {
		for b.Loop() {
			if found, _, err := Last(b.Context(), trails, &Filter{}, 20); err != nil || len(found) != 20 {
				b.Fatal(len(found), err)
			}
		}
	})
}
