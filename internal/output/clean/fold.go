package clean

import (
	"bytes"
	"fmt"
	"strings"
)

// leastEqual is how many equal lines in a row are folded.
const leastEqual = 5

// folder collects lines, and writes equal ones once, with how often they came.
type folder struct {
	out    bytes.Buffer
	last   []byte // the last line, without its end; it is in out
	begun  bool   // there is a last line
	again  int    // how often it came again since
	folded bool   // something was folded
}

// line adds a line, which is given without its end.
func (f *folder) line(p []byte) {
	if f.begun && bytes.Equal(p, f.last) {
		f.again++
		return
	}
	f.flush()
	f.last, f.begun = append(f.last[:0], p...), true
	f.out.Write(p)
	f.out.WriteByte('\n')
}

// flush writes what has come since the last line, as a count if that is
// shorter.
func (f *folder) flush() {
	if f.again == 0 {
		return
	}
	say := fmt.Sprintf("[… %s more lines like this one …]\n", grouped(int64(f.again)))
	if f.again >= leastEqual-1 && len(say) < f.again*(len(f.last)+1) {
		f.out.WriteString(say)
		f.folded = true
		f.again = 0
		return
	}
	for ; f.again > 0; f.again-- {
		f.out.Write(f.last)
		f.out.WriteByte('\n')
	}
}

// end adds the rest behind the last line end, and returns everything.
func (f *folder) end(rest []byte) string {
	f.flush()
	f.out.Write(rest)
	return f.out.String()
}

// grouped writes a number with its thousands apart, from five digits on.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	if n < 10_000 {
		return digits
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
