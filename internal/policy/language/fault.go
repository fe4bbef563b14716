package language

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tipstaff/internal/nearest"
)

// Pos is a position in a file. The zero Pos is none.
type Pos struct {
	File      string // under the operator's name for it, or preset:NAME
	Line, Col int    // from 1; Col counts characters
}

// String returns file:line, by which findings name a rule.
func (p Pos) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Set reports whether p is a position.
func (p Pos) Set() bool { return p.Line > 0 }

// Fault is something in a policy file that is wrong (from [Load]) or doubtful
// (from [Policy.Lint]).
type Fault struct {
	Pos  Pos
	Msg  string
	Hint string // what to do, "" if that is obvious
	line string // the line of the file, for display
}

// Error returns the fault with its line and a caret below the position.
func (f Fault) Error() string {
	b := fmt.Sprintf("%s:%d:%d: %s", f.Pos.File, f.Pos.Line, f.Pos.Col, f.Msg)
	if f.Hint != "" {
		b += "; " + f.Hint
	}
	if f.line != "" {
		b += "\n" + f.excerpt()
	}
	return b
}

// maxExcerpt bounds how much of a long line is shown, in characters.
const maxExcerpt = 100

// excerpt returns the line of a fault with a caret below its column. Control
// characters become blanks, because the text goes to a terminal; of a long line
// the part around the column is shown.
func (f Fault) excerpt() string {
	line := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' ' // a tab too, so that the caret is below the right character
		}
		return r
	}, f.line))
	at := min(max(f.Pos.Col-1, 0), len(line))
	from := 0
	if at > maxExcerpt*2/3 {
		from = at - maxExcerpt*2/3
	}
	line = line[from:min(len(line), from+maxExcerpt)]
	prefix := fmt.Sprintf("%5d | ", f.Pos.Line)
	return prefix + string(line) + "\n" + strings.Repeat(" ", len(prefix)+at-from) + "^"
}

// Faults are all errors in a file, in the order of its lines.
type Faults []Fault

// Error returns the faults in the order of their lines, each with its excerpt.
func (f Faults) Error() string {
	var b strings.Builder
	for i, one := range f {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	return b.String()
}

// maxFaults bounds how many faults are reported at once.
const maxFaults = 20

// faults collects errors, with the texts of the files for display.
type faults struct {
	list  Faults
	more  int
	texts map[string][]string // file → its lines
}

func (f *faults) add(at Pos, hint, format string, args ...any) {
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	one := Fault{Pos: at, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if lines := f.texts[at.File]; at.Line > 0 && at.Line <= len(lines) {
		one.line = lines[at.Line-1]
	}
	f.list = append(f.list, one)
}

// err returns what was collected, nil if nothing was.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	out := slices.Clone(f.list)
	slices.SortStableFunc(out, func(a, b Fault) int {
		if a.Pos.File != b.Pos.File {
			return 0
		}
		return a.Pos.Line - b.Pos.Line
	})
	if f.more > 0 {
		last := &out[len(out)-1]
		last.Hint = strings.TrimPrefix(last.Hint+fmt.Sprintf("; and %d more faults follow", f.more), "; ")
	}
	return out
}

// didYouMean proposes the nearest of some words, "" if none is near.
func didYouMean(word string, words []string) string {
	if best := nearest.To(word, words); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}
