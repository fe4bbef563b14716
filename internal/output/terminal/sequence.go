package terminal

import "fmt"

// single carries out a control character.
func (s *Screen) single(b byte) {
	switch b {
	case '\b':
		s.column, s.wrap = max(s.column-1, 0), false
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.index()
		if s.newLine {
			s.column = 0
		}
	case '\r':
		s.column, s.wrap = 0, false
	case 0x0e, 0x0f: // SO, SI
		s.shifted = int(0x0f - b)
	}
}

// escaped carries out an escape sequence without an intermediate character.
func (s *Screen) escaped(b byte) {
	switch b {
	case '7':
		s.saved = s.cursor
	case '8':
		s.cursor = s.saved
	case 'D':
		s.index()
	case 'E':
		s.column = 0
		s.index()
	case 'H':
		s.tabs[s.column] = true
	case 'M':
		s.reverseIndex()
	case 'c':
		s.reset()
	}
}

// designate carries out an escape sequence with one: sets of characters, and the
// pattern for adjusting the screen.
func (s *Screen) designate(b byte) {
	if b < '0' {
		return // one more intermediate character
	}
	s.state = ground
	switch s.between {
	case '(':
		s.graphic[0] = b == '0'
	case ')':
		s.graphic[1] = b == '0'
	case '#':
		if b == '8' {
			for i := range s.grid {
				for k := range s.grid[i] {
					s.grid[i][k] = cell{char: 'E'}
				}
			}
		}
	}
}

// sequence carries out a control sequence. Numbers of rows and columns count
// from 1.
func (s *Screen) sequence(final byte) {
	switch {
	case s.between == '!' && final == 'p':
		s.softReset()
	case s.between != 0:
	case s.private == '?':
		s.privateSequence(final)
	case s.private == '>' && final == 'c':
		s.reply("\x1b[>0;0;0c")
	case s.private != 0:
	case s.move(final), s.edit(final):
	default:
		s.settle(final)
	}
}

// move moves the cursor, and reports whether the sequence does that.
func (s *Screen) move(final byte) bool {
	n := s.param(0, 1)
	switch final {
	case 'A':
		s.up(n)
	case 'B', 'e':
		s.down(n)
	case 'C', 'a':
		s.goTo(s.row, s.column+n)
	case 'D':
		s.goTo(s.row, s.column-n)
	case 'E':
		s.down(n)
		s.column = 0
	case 'F':
		s.up(n)
		s.column = 0
	case 'G', '`':
		s.goTo(s.row, n-1)
	case 'H', 'f':
		s.goTo(s.originRow(n-1), s.param(1, 1)-1)
	case 'I':
		s.tab(n)
	case 'Z':
		s.backTab(n)
	case 'd':
		s.goTo(s.originRow(n-1), s.column)
	default:
		return false
	}
	return true
}

// edit changes what is shown, and reports whether the sequence does that.
func (s *Screen) edit(final byte) bool {
	n := s.param(0, 1)
	switch final {
	case '@':
		s.insertCells(n)
	case 'J':
		s.eraseDisplay(s.param(0, 0))
	case 'K':
		s.eraseLine(s.param(0, 0))
	case 'L':
		s.insertLines(n)
	case 'M':
		s.deleteLines(n)
	case 'P':
		s.deleteCells(n)
	case 'S':
		s.scrollUp(s.top, n)
	case 'T':
		s.scrollDown(s.top, n)
	case 'X':
		s.erase(s.row, s.column, min(n, s.columns-s.column))
		s.wrap = false
	case 'b':
		for range min(n, s.columns) { // programs fill the rest of a line
			if s.last != 0 {
				s.print(s.last)
			}
		}
	default:
		return false
	}
	return true
}

// settle carries out sequences that set and ask.
func (s *Screen) settle(final byte) {
	switch final {
	case 'c':
		if s.param(0, 0) == 0 {
			s.reply("\x1b[?6c") // a VT102, which promises least
		}
	case 'g':
		switch s.param(0, 0) {
		case 0:
			s.tabs[s.column] = false
		case 3:
			clear(s.tabs)
		}
	case 'h', 'l':
		for i := range s.count {
			switch s.params[i] {
			case 4:
				s.insert = final == 'h'
			case 20:
				s.newLine = final == 'h'
			}
		}
	case 'n':
		switch s.param(0, 0) {
		case 5:
			s.reply("\x1b[0n")
		case 6:
			row := s.row
			if s.origin {
				row -= s.top
			}
			s.reply(fmt.Sprintf("\x1b[%d;%dR", row+1, s.column+1))
		}
	case 'r':
		top, bottom := s.param(0, 1)-1, min(s.param(1, s.rows), s.rows)-1
		if top < bottom {
			s.top, s.bottom = top, bottom
			s.goTo(s.originRow(0), 0)
		}
	case 's':
		s.saved = s.cursor
	case 'u':
		s.cursor = s.saved
	}
}

// privateSequence carries out sequences that DEC and xterm have added.
func (s *Screen) privateSequence(final byte) {
	switch final {
	case 'J':
		s.eraseDisplay(s.param(0, 0))
	case 'K':
		s.eraseLine(s.param(0, 0))
	case 'h', 'l':
		for i := range s.count {
			s.privateMode(s.params[i], final == 'h')
		}
	}
}

func (s *Screen) privateMode(mode int, on bool) {
	switch mode {
	case 1:
		s.applicationKeys = on
	case 6:
		s.origin = on
		s.goTo(s.originRow(0), 0)
	case 7:
		s.noWrap, s.wrap = !on, false
	case 25:
		s.hidden = !on
	case 47, 1047:
		s.show(on, mode == 1047)
	case 1048:
		if on {
			s.saved = s.cursor
		} else {
			s.cursor = s.saved
		}
	case 1049:
		if on && !s.alternate {
			s.mainSaved = s.cursor
		}
		was := s.alternate
		s.show(on, true)
		if !on && was {
			s.cursor = s.mainSaved
		}
	}
}

// show shows the alternate screen or the main one. clear empties the alternate
// one when it comes.
func (s *Screen) show(alternate, clear bool) {
	if alternate == s.alternate {
		return
	}
	if s.other == nil || alternate && clear {
		s.other = blank(s.rows, s.columns)
	}
	s.grid, s.other, s.alternate = s.other, s.grid, alternate
	s.wrap = false
}

func (s *Screen) softReset() {
	s.modes, s.saved = modes{}, cursor{}
	s.origin, s.wrap, s.graphic, s.shifted = false, false, [2]bool{}, 0
	s.top, s.bottom = 0, s.rows-1
}
