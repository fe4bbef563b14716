package tty

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// IsTerminal reports whether f is probably used by a person.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Screen describes standard output.
type Screen struct {
	Width    int  // in columns; 0 if nothing has to be cut
	Terminal bool // otherwise a pipe or a file
	Color    bool
}

// ScreenOf examines w and the environment. COLUMNS also applies without a
// terminal.
func ScreenOf(w io.Writer, noColor bool) Screen {
	var s Screen
	switch f := w.(type) {
	case *os.File:
		s.Width, s.Terminal = Width(f)
	case *Output:
		s.Width, s.Terminal = Width(f.File)
	}
	if s.Terminal && s.Width <= 0 {
		s.Width = 80
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	}
	s.Color = s.Terminal && !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

const (
	Bold   = "1"
	Red    = "31"
	Yellow = "33"
)

// Paint colours text, which must be printable.
func (s Screen) Paint(color, text string) string {
	if !s.Color || color == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Rest cuts printable text to the rest of a line, of which used columns are
// taken.
func (s Screen) Rest(text string, used int) string {
	if s.Width == 0 {
		return text
	}
	return Cut(text, max(1, s.Width-used))
}

// Wrap breaks printable text at blanks into the lines of a terminal, of which used
// columns are taken in each.
func (s Screen) Wrap(text string, used int) (lines []string) {
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && s.Terminal && used+Columns(line)+1+Columns(word) > s.Width {
			lines, line = append(lines, line), word
			continue
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// Fit cuts or pads printable text to the given number of columns.
func Fit(text string, columns int) string {
	text = Cut(text, columns)
	return text + strings.Repeat(" ", max(0, columns-Columns(text)))
}

// Cut shortens text that takes more columns, and marks that with an ellipsis.
func Cut(text string, columns int) string {
	if Columns(text) <= columns {
		return text
	}
	used := 0
	for i, r := range text {
		used += runeColumns(r)
		if used > columns-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// Columns returns how many columns a text takes on a terminal.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

// runeColumns returns how many columns terminals use for a character.
func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case isWide(r):
		return 2
	}
	return 1
}

// isWide follows East Asian Width (Unicode Standard Annex 11), W and F, without
// the narrow gaps in its ranges: a character wrongly counted as wide leaves a
// gap, while one wrongly counted as narrow would break the line.
func isWide(r rune) bool {
	ranges := [...][2]rune{
		{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23f3}, {0x25fd, 0x25fe},
		{0x2614, 0x2615}, {0x2630, 0x2637}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x268a, 0x268f}, {0x2693, 0x2693},
		{0x26a1, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26fd},
		{0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274e}, {0x2753, 0x2757},
		{0x2795, 0x2797}, {0x27b0, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b55},
		{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe10, 0xfe19}, {0xfe30, 0xfe6b}, {0xff01, 0xff60}, {0xffe0, 0xffe6},
		{0x16fe0, 0x18d08}, {0x1aff0, 0x1b2fb}, {0x1d300, 0x1d376}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf},
		{0x1f18e, 0x1f19a}, {0x1f200, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1faff},
		{0x20000, 0x3fffd},
	}
	_, found := slices.BinarySearchFunc(ranges[:], r, func(span [2]rune, r rune) int {
		switch {
		case span[1] < r:
			return -1
		case span[0] > r:
			return 1
		}
		return 0
	})
	return found
}
