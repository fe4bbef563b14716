package terminal

import (
	"strings"

	"tipstaff"
)

// Bounds of the size of a screen.
const (
	MostRows    = 200
	MostColumns = 500
)

// Screen is what a terminal shows. One goroutine at a time may call its methods.
type Screen struct {
	rows, columns int
	grid          [][]cell // the one that is shown
	other         [][]cell // the main or the alternate one, whichever is not shown; nil before its first use
	alternate     bool     // is shown

	cursor
	saved, mainSaved cursor // by ESC 7; of the main screen, while the alternate one is shown
	top, bottom      int    // of the region that scrolls, both in it
	tabs             []bool
	modes
	last rune // that was written, for REP

	parser
	replies []byte
}

// cell is what stands at one place. The zero cell is a blank.
type cell struct {
	char rune // 0: nothing; behind: the second half of a wide character
	mark rune // a combining character; 0: none
}

const behind rune = -1

// cursor is where the next character goes, and how.
type cursor struct {
	row, column int
	wrap        bool // the next character begins a new line: the cursor is behind the last column
	origin      bool // rows count from the top of the region
	graphic     [2]bool
	shifted     int // which of both sets of characters is used
}

// modes are what programs switch.
type modes struct {
	insert, noWrap, hidden, newLine bool
	applicationKeys                 bool
}

// New returns an empty screen. Sizes out of bounds become the nearest that are
// in them.
func New(size tipstaff.TerminalSize) *Screen {
	s := &Screen{}
	s.rows, s.columns = bounded(size)
	s.reset()
	return s
}

func bounded(size tipstaff.TerminalSize) (rows, columns int) {
	return min(max(int(size.Rows), 1), MostRows), min(max(int(size.Columns), 1), MostColumns)
}

// reset is a terminal that was just switched on: ESC c.
func (s *Screen) reset() {
	s.grid, s.other, s.alternate = blank(s.rows, s.columns), nil, false
	s.cursor, s.saved, s.mainSaved, s.modes, s.last = cursor{}, cursor{}, cursor{}, modes{}, 0
	s.top, s.bottom = 0, s.rows-1
	s.usualTabs()
}

func blank(rows, columns int) [][]cell {
	all := make([]cell, rows*columns)
	grid := make([][]cell, rows)
	for i := range grid {
		grid[i] = all[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return grid
}

func (s *Screen) usualTabs() {
	s.tabs = make([]bool, s.columns)
	for i := 8; i < s.columns; i += 8 {
		s.tabs[i] = true
	}
}

// Write takes what a program has written. It always takes all of it; p may end
// anywhere in a character or sequence.
func (s *Screen) Write(p []byte) (int, error) {
	for _, b := range p {
		s.take(b)
	}
	return len(p), nil
}

// Resize changes the size. Programs draw their screen anew when they are told of
// it; until then, what fits stays, and rows are lost above rather than at the
// cursor.
func (s *Screen) Resize(size tipstaff.TerminalSize) {
	rows, columns := bounded(size)
	if rows == s.rows && columns == s.columns {
		return
	}
	lost := max(0, s.row-rows+1)
	s.grid = fitted(s.grid, lost, rows, columns)
	if s.other != nil {
		s.other = fitted(s.other, 0, rows, columns)
	}
	s.rows, s.columns = rows, columns
	for _, c := range []*cursor{&s.cursor, &s.saved, &s.mainSaved} {
		c.row, c.column, c.wrap = min(max(c.row-lost, 0), rows-1), min(c.column, columns-1), false
	}
	s.top, s.bottom = 0, rows-1
	s.usualTabs()
}

// fitted copies a grid without its first rows into one of another size.
func fitted(grid [][]cell, from, rows, columns int) [][]cell {
	to := blank(rows, columns)
	for i := range to {
		if from+i < len(grid) {
			copy(to[i], grid[from+i])
			mend(to[i], columns-1)
		}
	}
	return to
}

// Text returns what is shown, in lines. Blanks at the ends of lines and empty
// lines at the end are left out.
func (s *Screen) Text() string {
	var b strings.Builder
	breaks := 0
	for _, row := range s.grid {
		if line := text(row); line != "" {
			for range breaks {
				b.WriteByte('\n')
			}
			b.WriteString(line)
			breaks = 0
		}
		breaks++
	}
	return b.String()
}

func text(row []cell) string {
	var b strings.Builder
	for _, c := range row {
		switch c.char {
		case behind:
			continue
		case 0:
			b.WriteByte(' ')
		default:
			b.WriteRune(c.char)
		}
		if c.mark != 0 {
			b.WriteRune(c.mark)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Cursor returns where the cursor is, from 0, and whether it is shown.
func (s *Screen) Cursor() (row, column int, visible bool) {
	return s.row, s.column, !s.hidden
}

// Size returns the size.
func (s *Screen) Size() tipstaff.TerminalSize {
	return tipstaff.TerminalSize{Rows: uint16(s.rows), Columns: uint16(s.columns)}
}

// Alternate reports whether the alternate screen is shown, which programs use
// that draw the whole screen, as editors do.
func (s *Screen) Alternate() bool { return s.alternate }

// Replies returns what the terminal answers to the program's questions, since
// the last call. Who wants to be a terminal for the program types it.
func (s *Screen) Replies() []byte {
	r := s.replies
	s.replies = nil
	return r
}

const mostReplies = 256

func (s *Screen) reply(text string) {
	if len(s.replies)+len(text) <= mostReplies {
		s.replies = append(s.replies, text...)
	}
}
