package capture

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"tipstaff"
)

func written(limit int, parts ...string) *Buffer {
	b := NewBuffer(limit)
	for _, p := range parts {
		_, _ = b.Write([]byte(p))
	}
	return b
}

func whole(s tipstaff.Stream) string { return string(s.Head) + string(s.Tail) }

func TestAStreamWithinItsBoundIsKeptExactly(t *testing.T) {
	for _, n := range []int{0, 1, 299, 300, 301, 999, 1000} {
		text := strings.Repeat("x", n)
		s := written(1000, text).Stream(1000)
		if whole(s) != text || s.Dropped != 0 || s.DroppedLines != 0 {
			t.Errorf("%d bytes of 1000: kept %d, dropped %d", n, len(whole(s)), s.Dropped)
		}
	}
}

func TestALongStreamKeepsItsHeadAndTailAndCountsTheRest(t *testing.T) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	b := NewBuffer(1000)
	Drain(b, strings.NewReader(text.String()))
	s := b.Stream(1000)
	if got := len(s.Head) + len(s.Tail); got > 1000-gapRoom || got < 900 {
		t.Errorf("kept %d bytes of a bound of 1000", got)
	}
	if !strings.HasPrefix(text.String(), string(s.Head)) || !strings.HasSuffix(text.String(), string(s.Tail)) {
		t.Error("head or tail is not what was written first and last")
	}
	if s.Total() != int64(text.Len()) {
		t.Errorf("total %d, want %d", s.Total(), text.Len())
	}
	if kept := int64(strings.Count(whole(s), "\n")); s.DroppedLines != 10_000-kept {
		t.Errorf("%d lines dropped, want %d", s.DroppedLines, 10_000-kept)
	}
}

func TestACutNeverSplitsACharacter(t *testing.T) {
	text := strings.Repeat("a€😀é", 1000)
	for limit := 100; limit < 130; limit++ {
		s := written(limit, text).Stream(limit)
		if !utf8.Valid(s.Head) || !utf8.Valid(s.Tail) {
			t.Errorf("bound %d: a character was split", limit)
		}
	}
}

func TestBytesThatAreNoTextAreKept(t *testing.T) {
	junk := "\xff\xfe\x80\x80\x80\x80"
	if s := written(100, junk).Stream(100); whole(s) != junk {
		t.Errorf("kept %q of %q", whole(s), junk)
	}
}

// The ring is compared with the plain thing: keep everything, then cut.
func TestTheRingAgreesWithKeepingEverything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		limit := 100 + r.IntN(300)
		var all []byte
		b := NewBuffer(limit)
		for range r.IntN(20) {
			part := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, r.IntN(200))
			all = append(all, part...)
			_, _ = b.Write(part)
		}
		s := b.Stream(limit)
		if !bytes.HasPrefix(all, s.Head) || !bytes.HasSuffix(all, s.Tail) || s.Total() != int64(len(all)) {
			t.Fatalf("bound %d, %d bytes written: head %q tail %q dropped %d", limit, len(all), s.Head, s.Tail, s.Dropped)
		}
		if len(all) <= limit && s.Dropped != 0 {
			t.Fatalf("dropped %d of %d bytes within a bound of %d", s.Dropped, len(all), limit)
		}
	}
}

func TestShareGivesEachStreamWhatTheOtherLeaves(t *testing.T) {
	const limit = 1000
	for _, c := range []struct {
		name             string
		out, err         int
		wantOut, wantErr int // at least
	}{
		{"only stdout, exactly the bound", 1000, 0, 1000, 0},
		{"only stderr, exactly the bound", 0, 1000, 0, 1000},
		{"both within the bound", 600, 400, 600, 400},
		{"stdout floods, stderr is short", 1 << 20, 100, 800, 100},
		{"stderr floods, stdout is short", 100, 1 << 20, 100, 800},
		{"both flood: a quarter is kept for stderr", 1 << 20, 1 << 20, 650, 180},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, e := written(limit, strings.Repeat("o", c.out)), written(limit, strings.Repeat("e", c.err))
			out, err := Share(limit, o, e)
			if n := len(whole(out)) + len(whole(err)); n > limit {
				t.Errorf("kept %d bytes of a bound of %d", n, limit)
			}
			if len(whole(out)) < c.wantOut || len(whole(err)) < c.wantErr {
				t.Errorf("kept %d and %d bytes, want at least %d and %d", len(whole(out)), len(whole(err)), c.wantOut, c.wantErr)
			}
			if out.Total() != int64(c.out) || err.Total() != int64(c.err) {
				t.Errorf("totals %d and %d, want %d and %d", out.Total(), err.Total(), c.out, c.err)
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	buf := NewBuffer(1 << 20)
	chunk := bytes.Repeat([]byte("a line of output that is read by nobody\n"), chunk/40)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		_, _ = buf.Write(chunk)
	}
}

var _ io.Writer = (*Buffer)(nil)
