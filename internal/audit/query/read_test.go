package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tipstaff/internal/audit"
)

// manyFilters are filters of every kind, and some of several at once.
func manyFilters(random *rand.Rand) []Filter {
	moment := func() time.Time { return began().Add(time.Duration(random.IntN(1000)) * time.Millisecond) }
	filters := []Filter{
		{}, {Agent: "planner"}, {Agent: "größe"}, {Agent: `say "hi"`}, {Agent: `back\slash`}, {Agent: "nobody"},
		{Task: "t-1"}, {Session: "s-2"}, {Principal: "uid:1000"}, {Code: "COMMAND_NOT_ALLOWED"}, {Denied: true},
		{Event: Word{Text: "command.end"}}, {Event: Word{Text: "command.", Prefix: true}},
		{Cmd: Word{Text: "git"}}, {Cmd: Word{Text: "npm", Prefix: true}}, {Cmd: Word{Text: "x\ny"}}, {Cmd: Word{Text: "\u200b"}},
		{Cmd: Word{Text: "/usr/bin/git"}}, {Cmd: Word{Text: "日", Prefix: true}}, {Cmd: Word{Text: ".refused"}}, {Cmd: Word{Text: "."}},
		{Exit: &Exit{Code: 0}}, {Exit: &Exit{Code: 1}}, {Exit: &Exit{Code: 0, Not: true}}, {Exit: &Exit{Code: 124}}, {Seq: 7},
		{Agent: "planner", Cmd: Word{Text: "git"}, Exit: &Exit{Code: 0, Not: true}}, {Denied: true, Task: "t-2"},
	}
	for range 12 {
		f := filters[random.IntN(len(filters))]
		f.Since = moment()
		if random.IntN(2) == 0 {
			f.Until = f.Since.Add(time.Duration(random.IntN(1000)) * time.Millisecond)
		}
		filters = append(filters, f)
	}
	return filters
}

// disguise writes some characters of the strings in a line as escapes, and
// blanks between the members: another way to write the same record.
func disguise(random *rand.Rand, line []byte) []byte {
	var out []byte
	inside := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\':
			out = append(out, c, line[i+1])
			i++
			continue
		case c == '"':
			inside = !inside
		case inside && c == '/' && random.IntN(2) == 0:
			out = append(out, '\\')
		case inside && c < 0x80 && random.IntN(30) == 0:
			out = fmt.Appendf(out, `\u%04x`, c)
			continue
		case !inside && c == ':' && random.IntN(4) == 0:
			out = append(out, ' ', c, ' ')
			continue
		}
		out = append(out, c)
	}
	return out
}

func TestASearchFindsWhatALookAtEveryRecordFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // the same every time
	for _, shape := range []struct {
		name               string
		trails, n, pieces  int
		disguised, damaged bool
	}{
		{name: "one trail", trails: 1, n: 600, pieces: 1},
		{name: "several segments", trails: 1, n: 900, pieces: 7},
		{name: "several trails at once", trails: 5, n: 150, pieces: 2},
		{name: "written by another program", trails: 2, n: 250, pieces: 1, disguised: true},
		{name: "with bad lines among the good ones", trails: 2, n: 250, pieces: 3, damaged: true},
	} {
		t.Run(shape.name, func(t *testing.T) {
			dir := t.TempDir()
			for i := range shape.trails {
				trail := write(t, dir, began().Add(time.Duration(i)*37*time.Millisecond), time.Duration(i+1)*time.Millisecond, some(uint64(i), shape.n)...)
				text := bytes.SplitAfter(contents(t, trail), []byte("\n"))
				for j := range text {
					if shape.disguised && random.IntN(2) == 0 {
						text[j] = disguise(random, text[j])
					}
					if shape.damaged && random.IntN(3) == 0 {
						text[j] = append([]byte([]string{"\n", "no record\n", "{\"v\":1}\n", "{}\n", "\x00\x00\n"}[random.IntN(5)]), text[j]...)
					}
				}
				put(t, filepath.Join(trail, "000001.jsonl"), slices.Concat(text...))
				split(t, trail, shape.pieces)
			}
			trails := find(t, dir)
			var all [][]byte // in the order in which Find names them
			for _, trail := range trails {
				all = append(all, contents(t, trail.Path))
			}
			looked := entries(all...)
			for _, f := range manyFilters(random) {
				want := naive(looked, &f)
				got, _ := read(t, trails, &f)
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("%+v (-want +got):\n%s", f, d)
				}
				for _, n := range []int{1, 20, 1 << 20} {
					got, _ := last(t, trails, &f, n)
					if d := cmp.Diff(want[max(0, len(want)-n):], got); d != "" && len(got)+len(want) > 0 {
						t.Fatalf("the last %d of %+v (-want +got):\n%s", n, f, d)
					}
				}
			}
		})
	}
}

func TestWhatIsNoRecordIsCountedAndPassedOver(t *testing.T) {
	good := strings.Split(strings.TrimSpace(string(contents(t, write(t, t.TempDir(), began(), time.Second, some(1, 6)...)))), "\n")
	long := strings.Repeat("x", maxLine+1)
	for _, c := range []struct {
		name      string
		segments  []string
		torn, bad int64
		records   int
	}{
		{name: "an empty file", segments: []string{""}},
		{name: "a sound trail", segments: []string{good[0] + "\n" + good[1] + "\n"}, records: 2},
		{name: "a torn last line", segments: []string{good[0] + "\n" + good[1][:50]}, torn: 1, records: 1},
		{name: "a record without its newline is torn, too", segments: []string{good[0] + "\n" + good[1]}, torn: 1, records: 1},
		{name: "nothing but a torn line", segments: []string{"{"}, torn: 1},
		{name: "a torn line in front of another file is no crash", segments: []string{good[0] + "\n" + good[1][:50], good[2] + "\n"}, bad: 1, records: 2},
		{name: "text, an empty line, zeros, null", segments: []string{"text\n\n\x00\x00\nnull\n" + good[0] + "\n"}, bad: 4, records: 1},
		{name: "a line that was glued to another", segments: []string{good[0] + good[1] + "\n" + good[2] + "\n"}, bad: 1, records: 1},
		{name: "a line that is too long", segments: []string{good[0] + "\n" + long + "\n" + good[1] + "\n"}, bad: 1, records: 2},
		{name: "a far too long one, and last", segments: []string{good[0] + "\n" + strings.Repeat(long, 9)}, bad: 1, records: 1},
		{name: "a far too long one, and first", segments: []string{strings.Repeat(long, 9) + "\n" + good[0] + "\n"}, bad: 1, records: 1},
		{name: "an event without a time", segments: []string{`{"v":1,"seq":1,"event":"command.end"}` + "\n"}, bad: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, text := range c.segments {
				put(t, filepath.Join(dir, fmt.Sprintf("%06d.jsonl", i+1)), []byte(text))
			}
			trails := find(t, dir)
			forth, tally := read(t, trails, &Filter{})
			if len(forth) != c.records || tally.Faults.Torn != c.torn || tally.Faults.Bad != c.bad {
				t.Errorf("%d records, %+v", len(forth), tally.Faults)
			}
			back, tally := last(t, trails, &Filter{}, 1<<20)
			if !slices.Equal(back, forth) || tally.Faults.Torn != c.torn || tally.Faults.Bad != c.bad {
				t.Errorf("from the end: %d records, %+v", len(back), tally.Faults)
			}
		})
	}
}

// TestAHoleOfATerabyteIsPassedOver: it takes no room on the disk, and would take half an
// hour to read.
func TestAHoleOfATerabyteIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, began(), time.Second, some(1, 6)...)
	write(t, dir, began().Add(time.Hour), time.Second, some(2, 3)...)
	if err := os.Truncate(filepath.Join(path, "000001.jsonl"), 1<<40); err != nil {
		t.Skipf("no file of a terabyte can be made here: %v", err)
	}
	trails := find(t, dir)
	for name, f := range map[string]*Filter{"all": {}, "since": {Since: began()}, "until": {Until: began().Add(30 * time.Minute)}} {
		got, tally := read(t, trails, f)
		want := 9
		if name == "until" {
			want = 6
		}
		if len(got) != want || tally.Faults.Torn+tally.Faults.Bad != 1 && name != "until" {
			t.Errorf("%s: %d records, %+v", name, len(got), tally.Faults)
		}
	}
	if got, tally := last(t, trails, &Filter{}, 9); len(got) < 3 || tally.Faults.Bad != 1 {
		t.Errorf("from the end: %d records, %+v", len(got), tally.Faults)
	}
}

// TestATrailThatIsRetiredMeanwhileIsPassedOver: servers remove what is old by
// themselves, while people read. A file that is gone by itself is an error.
func TestATrailThatIsRetiredMeanwhileIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, began(), time.Second, some(1, 3)...)
	old := write(t, dir, began().Add(time.Minute), time.Second, some(2, 3)...)
	trails := find(t, dir)
	if err := os.Rename(old, filepath.Join(dir, ".retired-"+filepath.Base(old))); err != nil {
		t.Fatal(err)
	}
	if got, _ := read(t, trails, &Filter{}); len(got) != 3 {
		t.Errorf("%d records", len(got))
	}
	if got, _ := last(t, trails, &Filter{Since: began()}, 9); len(got) != 3 {
		t.Errorf("from the end: %d records", len(got))
	}
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), trails, &Filter{}, func(*Line) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestTheFirstFaultIsNamedByItsPlace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "000001.jsonl")
	put(t, file, []byte("\nno record\n{"))
	_, tally := read(t, find(t, dir), &Filter{})
	if want := (Faults{Torn: 1, Bad: 2, First: Place{file, 0}}); tally.Faults != want {
		t.Errorf("got %+v, want %+v", tally.Faults, want)
	}
}

func TestFindTakesATrailAFileOrADirectoryOfTrails(t *testing.T) {
	dir := t.TempDir()
	one := write(t, dir, began(), time.Second, some(1, 3)...)
	two := write(t, dir, began().Add(time.Hour), time.Second, some(2, 3)...)
	for _, name := range []string{"notes.jsonl", "000001.checkpoint", "1.jsonl"} {
		put(t, filepath.Join(one, name), []byte("{}\n"))
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "empty"), 0o700), os.Mkdir(filepath.Join(one, "000002.jsonl"), 0o700)); err != nil {
		t.Fatal(err)
	}
	paths := func(path string) (got []string) {
		for _, trail := range find(t, path) {
			got = append(got, trail.Path)
			if len(trail.Segments) != 1 || trail.Bytes() == 0 {
				t.Errorf("%s has the segments %v", trail.Path, trail.Segments)
			}
		}
		return got
	}
	segment := filepath.Join(two, "000001.jsonl")
	for path, want := range map[string][]string{dir: {one, two}, one: {one}, segment: {segment}} {
		if d := cmp.Diff(want, paths(path)); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	if trails := find(t, segment); trails[0].Name() != filepath.Base(two) || trails[0].PID() != os.Getpid() {
		t.Errorf("the file belongs to %q of process %d", trails[0].Name(), trails[0].PID())
	}
	if _, err := Find(filepath.Join(dir, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a path that is not there: %v", err)
	}
}

func TestReadingStopsWhenItIsToldTo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, began(), time.Second, some(1, 3*breath)...)
	trails := find(t, dir)
	stop := errors.New("stop")
	if _, err := Read(t.Context(), trails, &Filter{}, func(*Line) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the visitor's error became %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := Read(ctx, trails, &Filter{Agent: "nobody"}, func(*Line) error { return nil }); !errors.Is(err, stop) {
		t.Errorf("the cause of the context became %v", err)
	}
}

func TestATrailThatGrowsMeanwhileIsReadAsItWasFound(t *testing.T) {
	dir := t.TempDir()
	trail := write(t, dir, began(), time.Second, some(1, 4)...)
	trails := find(t, dir)
	put(t, filepath.Join(trail, "000001.jsonl"), append(contents(t, trail), "{\"v\":"...))
	got, tally := read(t, trails, &Filter{})
	if len(got) != 4 || tally.Faults != (Faults{}) {
		t.Errorf("%d records, %+v", len(got), tally.Faults)
	}
}

func TestFollowReadsWhatIsAdded(t *testing.T) {
	dir := t.TempDir()
	trail := write(t, dir, began(), time.Second, some(1, 5)...)
	lines := bytes.SplitAfter(contents(t, trail), []byte("\n"))
	file := filepath.Join(trail, "000001.jsonl")
	put(t, file, slices.Concat(lines[0], lines[1][:40])) // a line is being written

	w, err := Follow(audit.Files{}, dir, find(t, dir), &Filter{})
	if err != nil {
		t.Fatal(err)
	}
	poll := func() (got []string) {
		t.Helper()
		faults, err := w.Poll(t.Context(), func(l *Line) error { got = append(got, string(l.Raw)+"\n"); return nil })
		if err != nil || faults != (Faults{}) {
			t.Fatal(faults, err)
		}
		return got
	}
	expect := func(when string, want ...[]byte) {
		t.Helper()
		if got := poll(); strings.Join(got, "") != string(slices.Concat(want...)) {
			t.Errorf("%s: %q", when, got)
		}
	}
	expect("nothing new")
	put(t, file, slices.Concat(lines[0], lines[1], lines[2], lines[3][:3]))
	expect("one and a half more", lines[1], lines[2])
	put(t, file, slices.Concat(lines[0], lines[1], lines[2], lines[3]))
	expect("the other half", lines[3])
	put(t, filepath.Join(trail, "000002.jsonl"), lines[4])
	other := contents(t, write(t, dir, began().Add(time.Minute), time.Second, some(2, 2)...))
	expect("a new segment and a new trail", lines[4], other)
	expect("nothing new again")
}

func FuzzReaderLosesNoRecord(f *testing.F) {
	text := contents(f, write(f, f.TempDir(), began(), time.Second, some(3, 4)...))
	f.Add(text, 100)
	f.Add(text[:len(text)-30], 2000)
	f.Add([]byte("\n\n{}\n"+`{"seq":1,"time":"2026-01-02T03:04:05Z","event":"x"}`+"\n{"), 3)
	f.Add(bytes.ReplaceAll(text, []byte("git"), []byte(`\u0067it`)), 0)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		if len(text) > maxLine {
			return
		}
		dir := t.TempDir()
		at = max(0, min(at, len(text)))
		put(t, filepath.Join(dir, "000001.jsonl"), text[:at])
		put(t, filepath.Join(dir, "000002.jsonl"), text[at:])
		trails := find(t, dir)
		for _, filter := range []Filter{{}, {Denied: true}, {Cmd: Word{Text: "git"}}, {Agent: "planner"}} {
			var want []string
			for _, piece := range [][]byte{text[:at], text[at:]} {
				for line := range bytes.SplitAfterSeq(piece, []byte("\n")) {
					whole, ended := bytes.CutSuffix(line, []byte("\n"))
					var r audit.Record
					if ended && naiveDecode(whole, &r) == nil && filter.Match(&r) {
						want = append(want, string(whole))
					}
				}
			}
			if got, _ := read(t, trails, &filter); !slices.Equal(got, want) {
				t.Errorf("%+v: got %q, want %q", filter, got, want)
			}
			if got, _ := last(t, trails, &filter, 1<<20); !slices.Equal(got, want) {
				t.Errorf("%+v from the end: got %q, want %q", filter, got, want)
			}
		}
		filter := Filter{Since: began().Add(3 * time.Second), Until: began().Add(9 * time.Second)}
		read(t, trails, &filter) // for any order of times, it ends
		last(t, trails, &filter, 2)
	})
}
