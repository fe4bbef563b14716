package terminal

// goTo moves the cursor, as far as the screen goes.
func (s *Screen) goTo(row, column int) {
	s.row, s.column, s.wrap = min(max(row, 0), s.rows-1), min(max(column, 0), s.columns-1), false
}

// originRow returns the row of a number that counts from the top of the screen,
// or of the region.
func (s *Screen) originRow(n int) int {
	if s.origin {
		return min(s.top+n, s.bottom)
	}
	return n
}

// up moves the cursor up, not out of the region.
func (s *Screen) up(n int) {
	least := 0
	if s.row >= s.top {
		least = s.top
	}
	s.goTo(max(s.row-n, least), s.column)
}

// down moves the cursor down, not out of the region.
func (s *Screen) down(n int) {
	most := s.rows - 1
	if s.row <= s.bottom {
		most = s.bottom
	}
	s.goTo(min(s.row+n, most), s.column)
}

// index moves the cursor to the next line, and scrolls at the end of the region.
func (s *Screen) index() {
	s.wrap = false
	switch {
	case s.row == s.bottom:
		s.scrollUp(s.top, 1)
	case s.row < s.rows-1:
		s.row++
	}
}

func (s *Screen) reverseIndex() {
	s.wrap = false
	switch {
	case s.row == s.top:
		s.scrollDown(s.top, 1)
	case s.row > 0:
		s.row--
	}
}

func (s *Screen) tab(n int) {
	for ; n > 0 && s.column < s.columns-1; n-- {
		for s.column++; s.column < s.columns-1 && !s.tabs[s.column]; {
			s.column++
		}
	}
}

func (s *Screen) backTab(n int) {
	s.wrap = false
	for ; n > 0 && s.column > 0; n-- {
		for s.column--; s.column > 0 && !s.tabs[s.column]; {
			s.column--
		}
	}
}
