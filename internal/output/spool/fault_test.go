package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
)

// files are the files of outputs below a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// numbered returns n lines of equal length.
func numbered(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %010d\n", i)
	}
	return b.Bytes()
}

func TestASmallOutputTouchesNoDisk(t *testing.T) {
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	o.Write(Stdout, numbered(900))
	o.End()
	if all, err := os.ReadDir(s.opts.Dir); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	o = s.Begin("cmd_2")
	o.Write(Stdout, numbered(900))
	o.Write(Stdout, numbered(900))
	o.End()
	if all := files(t, s.opts.Dir); len(all) != 1 {
		t.Errorf("%q: a bigger one shows what is looked for", all)
	}
}

func TestAFileIsPrivateAndItsContentNoise(t *testing.T) {
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	for range 100 {
		o.Write(Stdout, bytes.Repeat([]byte("password=SRVSECRET-1234 and aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"), 100))
	}
	all := files(t, s.opts.Dir)
	if len(all) != 1 {
		t.Fatalf("%q", all)
	}
	for path, want := range map[string]os.FileMode{s.opts.Dir: 0o700 | os.ModeDir, filepath.Dir(all[0]): 0o700 | os.ModeDir, all[0]: 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	data, err := os.ReadFile(all[0])
	if err != nil || len(data) < 64<<10 {
		t.Fatal(len(data), err)
	}
	seen := map[string]int{}
	for i := 0; i+8 <= len(data); i++ {
		seen[string(data[i:i+8])]++
	}
	for part, n := range seen {
		if n > 2 {
			t.Fatalf("%q occurs %d times in the file", part, n)
		}
	}
}

func TestBeyondItsBoundTheBeginningAndTheEndOfAnOutputAreKept(t *testing.T) {
	for _, dir := range []bool{true, false} {
		s := store(t, Options{MaxBytes: 1 << 20})
		bound := 1 << 20
		if !dir {
			s.dir, bound = nil, inMemory
		}
		text := numbered(500_000)
		o := s.Begin("cmd_1")
		for rest := text; len(rest) > 0; {
			n := min(10_000, len(rest))
			o.Write(Stdout, rest[:n])
			rest = rest[n:]
		}
		for _, ended := range []bool{false, true} {
			if ended {
				o.End()
			}
			p, err := o.Read(0, 0, Both)
			if err != nil || !bytes.HasPrefix(text, p.Text) && !p.Lost || len(p.Text) < bound-batch || o.Whole() {
				t.Fatalf("%d bytes, lost %v, whole %v, %v", len(p.Text), p.Lost, o.Whole(), err)
			}
			end, err := o.Tail(1000, Both)
			if err != nil || !bytes.HasSuffix(text, end.Text) || bytes.Count(end.Text, []byte("\n")) != 1000 || end.Lost {
				t.Errorf("the end is %d bytes, %v, %v", len(end.Text), end.Lost, err)
			}
			if all, err := o.Tail(100_000, Both); err != nil || !all.Lost || !bytes.HasSuffix(text, all.Text) {
				t.Errorf("more than is kept: %d bytes, lost %v, %v", len(all.Text), all.Lost, err)
			}
			middle, err := o.Read(int64(len(text)/2), 100, Both)
			if err != nil || !middle.Lost || middle.From <= int64(len(text)/2) || middle.Next > 0 && len(middle.Text) == 0 {
				t.Errorf("what is not kept: %+v, %v", middle, err)
			}
			found, err := o.Grep(regexp.MustCompile(`0000(000001|250000|499999)$`), 0, 0, 0, Both)
			if want := "line 0000000001\nline 0000499999\n"; err != nil || string(found.Text) != want || !found.Lost || found.Matched != 2 {
				t.Errorf("%q, %+v, %v", found.Text, found, err)
			}
			if o.Size() != int64(len(text)) {
				t.Errorf("%d bytes came, not %d", o.Size(), len(text))
			}
		}
		if st := files(t, s.opts.Dir); dir {
			if info, err := os.Stat(st[0]); err != nil || info.Size() > int64(bound)+4*batch {
				t.Errorf("the file has %d bytes, %v", info.Size(), err)
			}
		}
	}
}

// TestAReaderWhoKeepsUpLosesNothing of an output beyond its bound.
func TestAReaderWhoKeepsUpLosesNothing(t *testing.T) {
	s := store(t, Options{MaxBytes: 100_000})
	o := s.Begin("cmd_1")
	var all, got []byte
	at := int64(0)
	for i := range 1000 {
		p := numbered(1 + i%1000)
		all = append(all, p...)
		o.Write(Stdout, p)
		for at < o.Size() {
			piece, err := o.Read(at, 0, Both)
			if err != nil || piece.Lost {
				t.Fatalf("at %d of %d: %+v, %v", at, o.Size(), piece.From, err)
			}
			got, at = append(got, piece.Text...), piece.Next
		}
	}
	if !bytes.Equal(got, all) {
		t.Errorf("%d bytes of %d", len(got), len(all))
	}
}

func TestOfAllServersFilesThoseGoFirstThatEndedFirst(t *testing.T) {
	s := store(t, Options{TotalBytes: 1 << 20})
	ids := make([]tipstaff.RequestID, 6)
	for i := range ids {
		ids[i] = tipstaff.RequestID(fmt.Sprint("cmd_", i))
		o := s.Begin(ids[i])
		o.Write(Stdout, numbered(20_000)) // 320 kB
		o.End()
	}
	for i, id := range ids {
		if o, kept := s.Find(id); kept != (i >= 3) || kept && !o.Whole() {
			t.Errorf("%s: %v", id, kept)
		}
	}
	if all := files(t, s.opts.Dir); len(all) != 3 || s.used > 1<<20 {
		t.Errorf("%q, %d bytes", all, s.used)
	}
	// What still runs is not taken away for others.
	running := s.Begin("running")
	running.Write(Stdout, numbered(50_000))
	late := s.Begin("late")
	late.Write(Stdout, numbered(50_000))
	if !running.Whole() || late.Whole() {
		t.Errorf("the first is whole: %v, the second: %v", running.Whole(), late.Whole())
	}
	if p, err := late.Tail(1, Both); err != nil || string(p.Text) != "line 0000049999\n" {
		t.Errorf("%q, %v", p.Text, err)
	}
	for _, id := range []tipstaff.RequestID{"running", "late"} {
		s.Remove(id)
	}
	for _, id := range ids {
		s.Remove(id)
	}
	if s.used != 0 || len(files(t, s.opts.Dir)) > 0 {
		t.Errorf("%d bytes are left", s.used)
	}
}

func TestAnOutputGoesAnHourAfterItsEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		first, running := s.Begin("cmd_1"), s.Begin("cmd_2")
		first.Write(Stdout, numbered(10_000))
		running.Write(Stdout, numbered(10_000))
		first.End()
		time.Sleep(30 * time.Minute)
		second := s.Begin("cmd_3")
		second.End()
		time.Sleep(30*time.Minute - time.Second)
		if _, kept := s.Find("cmd_1"); !kept {
			t.Error("it went too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		_, one := s.Find("cmd_1")
		_, two := s.Find("cmd_2")
		_, three := s.Find("cmd_3")
		if one || !two || !three || len(files(t, dir)) != 1 {
			t.Errorf("%v %v %v, %q", one, two, three, files(t, dir))
		}
		if _, err := first.Read(0, 10, Both); err == nil {
			t.Error("what has gone is still read")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, kept := s.Find("cmd_3"); kept {
			t.Error("the second is still there")
		}
	})
}

func TestManySmallOutputsAreBounded(t *testing.T) {
	s := store(t, Options{})
	for i := range 3 * mostEnded {
		o := s.Begin(tipstaff.RequestID(fmt.Sprint(i)))
		o.Write(Stdout, numbered(900))
		o.End()
	}
	if s.ended.Len() > mostEnded || s.bufferedBytes > mostEndedHeld || len(s.outputs) != s.ended.Len() {
		t.Errorf("%d outputs with %d bytes, %d by name", s.ended.Len(), s.bufferedBytes, len(s.outputs))
	}
	if _, kept := s.Find(tipstaff.RequestID(fmt.Sprint(3*mostEnded - 1))); !kept {
		t.Error("the last one is gone")
	}
}

func TestWhatIsWrittenAfterARemovalIsNotKept(t *testing.T) {
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	o.Write(Stdout, numbered(10_000))
	changed := o.Changed()
	s.Remove("cmd_1")
	<-changed
	o.Write(Stdout, numbered(10_000))
	o.End()
	if len(files(t, s.opts.Dir)) > 0 || s.used != 0 || len(s.outputs) > 0 {
		t.Errorf("%q, %d bytes", files(t, s.opts.Dir), s.used)
	}
	if _, err := o.Tail(1, Both); err == nil {
		t.Error("it can be read")
	}
}

// TestAWaiterHearsOfEverything: of each write and of the end.
func TestAWaiterHearsOfEverything(t *testing.T) {
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	heard := make(chan int64)
	go func() {
		defer close(heard)
		for seen := int64(0); ; {
			changed, done := o.Changed(), o.Done()
			if n := o.Size(); n > seen {
				seen = n
				heard <- n
				continue
			}
			if done {
				return
			}
			<-changed
		}
	}()
	for i := range 100 {
		o.Write(Stdout, []byte("x"))
		if n := <-heard; n != int64(i+1) {
			t.Fatalf("%d bytes were heard of, not %d", n, i+1)
		}
	}
	o.End()
	for range heard {
	}
	select {
	case <-o.Changed():
	default:
		t.Error("after the end there is nothing to wait for")
	}
}

func TestAFileThatIsGoneIsSaid(t *testing.T) {
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	o.Write(Stdout, numbered(10_000))
	path := files(t, s.opts.Dir)[0]
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	o.Write(Stdout, numbered(10_000)) // the command notices nothing
	if p, err := o.Tail(1, Both); err != nil || string(p.Text) != "line 0000009999\n" {
		t.Errorf("while it runs: %q, %v", p.Text, err)
	}
	o.End()
	if _, err := o.Read(0, 10, Both); err == nil || !strings.Contains(err.Error(), "no longer kept") {
		t.Errorf("afterwards: %v", err)
	}
	if _, err := o.Grep(regexp.MustCompile("x"), 0, 0, 0, Both); err == nil {
		t.Error("and nothing is found in it")
	}
	// What is cut short is no output, either.
	o = s.Begin("cmd_2")
	o.Write(Stdout, numbered(10_000))
	o.End()
	if err := os.Truncate(files(t, s.opts.Dir)[0], 1000); err != nil {
		t.Fatal(err)
	}
	if p, err := o.Read(0, 0, Both); err == nil {
		t.Errorf("%d bytes are read", len(p.Text))
	}
}

func TestADirectoryThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: filepath.Join(file, "spool")}); err == nil {
		t.Error("it was opened")
	}
	// One that goes while the server lives fails no command.
	s := store(t, Options{})
	if err := os.RemoveAll(s.opts.Dir); err != nil {
		t.Fatal(err)
	}
	o := s.Begin("cmd_1")
	text := numbered(100_000)
	o.Write(Stdout, text)
	if o.Whole() {
		t.Error("it is whole")
	}
	if p, err := o.Read(0, 0, Both); err != nil || !bytes.HasPrefix(text, p.Text[:inMemory/2]) || !p.Lost {
		t.Errorf("the beginning: %d bytes, %v", len(p.Text), err)
	}
	if p, err := o.Tail(10, Both); err != nil || !bytes.HasSuffix(text, p.Text) || len(p.Text) == 0 {
		t.Errorf("the end: %q, %v", p.Text, err)
	}
}

// TestALineWithoutAnEndNeedsNoMemory: what is searched is 64 MiB, what the search
// has at once much less.
func TestALineWithoutAnEndNeedsNoMemory(t *testing.T) {
	s := store(t, Options{})
	o := s.Begin("cmd_1")
	part := bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
	for range 200 {
		o.Write(Stdout, part)
		if o.Size() == int64(100*len(part)) {
			o.Write(Stdout, []byte("NEEDLE"))
		}
	}
	o.End()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p, err := o.Grep(regexp.MustCompile("NEEDLE"), 3, 0, 0, Both)
	runtime.ReadMemStats(&after)
	if err != nil || p.Matched != 1 || !bytes.Contains(p.Text, []byte("0123NEEDLE0123")) && !bytes.Contains(p.Text, []byte("cdefNEEDLE0123")) || len(p.Text) > 7*(mostShown+20) {
		t.Errorf("%d matches, %d bytes, %v", p.Matched, len(p.Text), err)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 24<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}
