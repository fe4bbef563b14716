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
		s := written(1000, text).Stream()
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
	s := b.Stream()
	if got := len(s.Head) + len(s.Tail); got > 1000 || got < 990 {
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
		s := written(limit, text).Stream()
		if !utf8.Valid(s.Head) || !utf8.Valid(s.Tail) {
			t.Errorf("bound %d: a character was split", limit)
		}
	}
}

func TestBytesThatAreNoTextAreKept(t *testing.T) {
	junk := "\xff\xfe\x80\x80\x80\x80"
	if s := written(100, junk).Stream(); whole(s) != junk {
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
		s := b.Stream()
		if !bytes.HasPrefix(all, s.Head) || !bytes.HasSuffix(all, s.Tail) || s.Total() != int64(len(all)) {
			t.Fatalf("bound %d, %d bytes written: head %q tail %q dropped %d", limit, len(all), s.Head, s.Tail, s.Dropped)
		}
		if len(all) <= limit && s.Dropped != 0 {
			t.Fatalf("dropped %d of %d bytes within a bound of %d", s.Dropped, len(all), limit)
		}
	}
}

func TestThereIsRoomForAnAnswerThatShowsMoreOfTheEnd(t *testing.T) {
	for _, bound := range []int{1, 10, 1000, 10_000, 32 << 10, 1 << 20, 100 << 20} {
		room := Room(bound)
		b := NewBuffer(room)
		if b.headMax < bound*30/100 || b.tailMax < bound*85/100 || room > 4*bound || room > bound+max(bound/4, 192<<10) {
			t.Errorf("bound %d: room %d, head %d, tail %d", bound, room, b.headMax, b.tailMax)
		}
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
