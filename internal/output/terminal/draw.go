package terminal

import (
	"slices"
	"unicode"
)

// print puts a character where the cursor is.
func (s *Screen) print(r rune) {
	width := widthOf(r)
	if width == 0 {
		s.combine(r)
		return
	}
	if s.graphic[s.shifted] && r >= '`' && r <= '~' {
		r = lines[r-'`']
	}
	if s.wrap && !s.noWrap {
		s.column = 0
		s.index()
	}
	s.wrap = false
	if width > s.columns {
		r, width = unicode.ReplacementChar, 1
	}
	if s.column+width > s.columns {
		if s.noWrap {
			s.column = s.columns - width
		} else { // half of it would not fit
			s.column = 0
			s.index()
		}
	}
	if s.insert {
		s.insertCells(width)
	}
	row := s.grid[s.row]
	split(row, s.column)
	split(row, s.column+width)
	row[s.column] = cell{char: r}
	if width == 2 {
		row[s.column+1] = cell{char: behind}
	}
	s.last = r
	if s.column += width; s.column == s.columns {
		s.column, s.wrap = s.columns-1, true
	}
}

// combine adds a mark to the character before the cursor. A second one is lost.
func (s *Screen) combine(r rune) {
	at := s.column - 1
	if s.wrap {
		at = s.column
	}
	row := s.grid[s.row]
	if at >= 0 && row[at].char == behind {
		at--
	}
	if at >= 0 && row[at].char > 0 && unicode.Is(unicode.M, r) {
		row[at].mark = r
	}
}

// lines are the graphic characters of DEC, from ` to ~.
var lines = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

// split makes two blanks of a wide character that is cut at a column.
func split(row []cell, at int) {
	if at > 0 && at < len(row) && row[at].char == behind {
		row[at-1], row[at] = cell{}, cell{}
	}
}

// mend removes a wide character of which only the first half fits.
func mend(row []cell, last int) {
	if c := row[last].char; c > 0 && widthOf(c) == 2 {
		row[last] = cell{}
	}
}

// erase makes n cells of a row blank.
func (s *Screen) erase(row, from, n int) {
	split(s.grid[row], from)
	split(s.grid[row], from+n)
	clear(s.grid[row][from : from+n])
}

func (s *Screen) eraseLine(what int) {
	switch what {
	case 0:
		s.erase(s.row, s.column, s.columns-s.column)
	case 1:
		s.erase(s.row, 0, s.column+1)
	case 2:
		s.erase(s.row, 0, s.columns)
	}
	s.wrap = false
}

func (s *Screen) eraseDisplay(what int) {
	from, to := 0, s.rows
	switch what {
	case 0:
		s.eraseLine(0)
		from = s.row + 1
	case 1:
		s.eraseLine(1)
		to = s.row
	case 2:
	default: // 3 is what has scrolled away
		return
	}
	for row := from; row < to; row++ {
		clear(s.grid[row])
	}
	s.wrap = false
}

// insertCells moves the rest of the line to the right.
func (s *Screen) insertCells(n int) {
	row, n := s.grid[s.row], min(n, s.columns-s.column)
	split(row, s.column)
	copy(row[s.column+n:], row[s.column:])
	clear(row[s.column : s.column+n])
	mend(row, s.columns-1)
	s.wrap = false
}

// deleteCells moves the rest of the line to the left.
func (s *Screen) deleteCells(n int) {
	row, n := s.grid[s.row], min(n, s.columns-s.column)
	split(row, s.column)
	split(row, s.column+n)
	copy(row[s.column:], row[s.column+n:])
	clear(row[s.columns-n:])
	s.wrap = false
}

func (s *Screen) insertLines(n int) {
	if s.row >= s.top && s.row <= s.bottom {
		s.scrollDown(s.row, n)
		s.column, s.wrap = 0, false
	}
}

func (s *Screen) deleteLines(n int) {
	if s.row >= s.top && s.row <= s.bottom {
		s.scrollUp(s.row, n)
		s.column, s.wrap = 0, false
	}
}

// scrollUp moves the region from a row on up.
func (s *Screen) scrollUp(from, n int) {
	region := s.grid[from : s.bottom+1]
	n = min(n, len(region))
	for _, row := range region[:n] {
		clear(row)
	}
	rotate(region, n)
}

// scrollDown moves the region from a row on down.
func (s *Screen) scrollDown(from, n int) {
	region := s.grid[from : s.bottom+1]
	n = min(n, len(region))
	for _, row := range region[len(region)-n:] {
		clear(row)
	}
	rotate(region, len(region)-n)
}

// rotate puts the first n rows behind the others.
func rotate(rows [][]cell, n int) {
	slices.Reverse(rows[:n])
	slices.Reverse(rows[n:])
	slices.Reverse(rows)
}
