package query

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tipstaff/internal/audit"
)

// countedFS is a directory that counts which of its files are open.
type countedFS struct {
	fs.FS

	open, most *atomic.Int64
}

func (c countedFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".jsonl") {
		return f, err
	}
	if n := c.open.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	return countedFile{f.(*os.File), c.open}, nil
}

type countedFile struct {
	*os.File

	open *atomic.Int64
}

func (f countedFile) Close() error {
	f.open.Add(-1)
	return f.File.Close()
}

// TestThousandsOfTrailsAreReadWithFewFiles: more trails than a process has descriptors
// were written at the same time.
func TestThousandsOfTrailsAreReadWithFewFiles(t *testing.T) {
	const trails, records = 3 * maxOpenFiles, 12
	dir := t.TempDir()
	var lines []string
	for i := range trails {
		trail := fmt.Sprintf("%s/2026010%dT030405Z-%d-00000000", dir, 1+i%9, i)
		if err := os.Mkdir(trail, 0o700); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for n := range records {
			at := began().Add(time.Duration(n)*time.Second + time.Duration(i*7919%trails)*time.Millisecond)
			line := fmt.Sprintf(`{"v":1,"seq":%d,"time":%q,"event":"command.end","what":{"argv":["%d"]},"prev":"p","hash":"h"}`, n+1, at.Format("2006-01-02T15:04:05.000000000Z07:00"), i)
			lines = append(lines, line)
			text.WriteString(line + "\n")
		}
		if err := os.WriteFile(trail+"/"+audit.FirstSegment, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(a[strings.Index(a, `"time"`):], b[strings.Index(b, `"time"`):])
	})
	in := countedFS{os.DirFS(dir), new(atomic.Int64), new(atomic.Int64)}
	found, err := FindIn(audit.Files{In: in}, ".")
	if err != nil || len(found) != trails {
		t.Fatal(len(found), err)
	}
	check := func(what string, got, want []string, err error) {
		t.Helper()
		if most := in.most.Load(); err != nil || !slices.Equal(got, want) || most > maxOpenFiles+1 || in.open.Load() != 0 {
			t.Errorf("%s: %d lines of %d, %d files open at once, %d left, %v", what, len(got), len(want), most, in.open.Load(), err)
		}
	}
	for _, f := range []*Filter{{}, {Since: began()}} {
		got, _ := read(t, found, f)
		check("forward", got, lines, nil)
	}
	last, _, err := Last(t.Context(), found, &Filter{}, len(lines)-5)
	var got []string
	for i := range last {
		got = append(got, string(last[i].Raw))
	}
	check("backward", got, lines[5:], err)
}
