package clean

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// markerRoom is reserved for the line that stands where output is missing, without
// what it says of the rest.
const markerRoom = 80

// headShare says how much of a bound is the beginning of a stream, in percent; the
// rest is its end. After a failure the end says more.
func headShare(failed bool) int {
	if failed {
		return 15
	}
	return 30
}

// piece is what was kept of one stream, cleaned or not: its head and, where
// bytes between them were not kept, its tail.
type piece struct {
	head, tail string
	gap        bool
	dropped    int64  // bytes that were not kept, as they were written
	lines      int64  // line ends among them
	rest       string // what the marker says of them
}

// size is how many bytes the piece takes if no more is cut.
func (p piece) size() int {
	n := len(p.head) + len(p.tail)
	if p.gap {
		n += p.room()
	}
	return n
}

// room is reserved for the marker.
func (p piece) room() int { return markerRoom + len(p.rest) }

// cut returns at most limit bytes of the piece, or the marker alone where not
// even that fits, and whether anything is missing.
func (p piece) cut(limit, share int) (text string, missing bool) {
	if !p.gap {
		if len(p.head) <= limit {
			return p.head, false
		}
		p.tail = p.head
	}
	room := max(limit-p.room(), 0)
	forHead := room * share / 100
	forTail := room - forHead
	switch {
	case !p.gap: // head and tail are parts of one text, which is longer than both
	case len(p.head) < forHead:
		forTail = room - len(p.head)
	case len(p.tail) < forTail:
		forHead = room - len(p.tail)
	}
	head, tail := endAtLine(p.head, forHead), beginAtLine(p.tail, forTail, p.gap)
	omitted, lines := p.missing(head, tail)
	rest := " …"
	if p.rest != "" {
		rest = "; " + p.rest
	}
	marker := fmt.Sprintf("[… %s, %s lines omitted%s]\n", ByteCount(omitted), grouped(lines), rest)
	if head != "" && !strings.HasSuffix(head, "\n") {
		marker = "\n" + marker
	}
	return head + marker + tail, true
}

// missing counts what head and tail leave out.
func (p piece) missing(head, tail string) (bytes, lines int64) {
	bytes = int64(len(p.head) - len(head) - len(tail))
	lines = int64(strings.Count(p.head, "\n") - strings.Count(head, "\n") - strings.Count(tail, "\n"))
	if p.gap {
		bytes += p.dropped + int64(len(p.tail))
		lines += p.lines + int64(strings.Count(p.tail, "\n"))
	}
	return max(bytes, 0), max(lines, 0)
}

// endAtLine returns at most n bytes from the start of s, up to a line end if
// that keeps at least half of them, else between characters.
func endAtLine(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	if i := strings.LastIndexByte(s, '\n') + 1; i > 0 && i >= len(s)/2 {
		return s[:i]
	}
	return s
}

// beginAtLine returns at most n bytes from the end of s, in the same way.
// broken says that s itself begins anywhere.
func beginAtLine(s string, n int, broken bool) string {
	from := max(len(s)-n, 0)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	if from > 0 {
		broken = s[from-1] != '\n'
	}
	s = s[from:]
	if !broken {
		return s
	}
	if i := strings.IndexByte(s, '\n') + 1; i > 0 && i <= (len(s)+1)/2 {
		return s[i:]
	}
	return s
}
