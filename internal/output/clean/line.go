package clean

import "unicode/utf8"

// line is the line that is being written, as a terminal of unlimited width
// shows it. While the cursor is at its end, it is text; once the cursor has
// moved, it is cells, one for each character.
type line struct {
	text   []byte
	cells  []rune
	cursor int
	edited bool // cells count, not text
}

// plain writes characters that need no attention.
func (l *line) plain(p []byte) {
	if !l.edited {
		l.text = append(l.text, p...)
		return
	}
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		l.put(r)
		p = p[n:]
	}
}

func (l *line) put(r rune) {
	if !l.edited {
		l.text = utf8.AppendRune(l.text, r)
		return
	}
	if l.cursor < len(l.cells) {
		l.cells[l.cursor] = r
	} else {
		l.cells = append(l.cells, r)
	}
	l.cursor++
}

// edit turns the text into cells.
func (l *line) edit() {
	if l.edited {
		return
	}
	l.edited, l.cells = true, append(l.cells[:0], []rune(string(l.text))...)
	l.cursor = len(l.cells)
}

func (l *line) begin() { l.edit(); l.cursor = 0 }
func (l *line) back()  { l.edit(); l.cursor = max(l.cursor-1, 0) }

// apply carries out a control sequence. The cursor gets at most one blank
// beyond the end of the line: what stood apart still does, and a few bytes
// cannot ask for a line of a million blanks.
func (l *line) apply(e effect) {
	if e.do == 0 {
		return
	}
	l.edit()
	to := l.cursor
	switch e.do {
	case 'C':
		to += max(e.n, 1)
	case 'D':
		to -= max(e.n, 1)
	case 'G':
		to = max(e.n, 1) - 1
	case 'K':
		l.erase(e.n)
		return
	}
	if l.cursor = max(to, 0); l.cursor > len(l.cells) {
		l.cells = append(l.cells, ' ')
		l.cursor = len(l.cells)
	}
}

// mostErased bounds what one sequence erases before the cursor; terminals are
// narrower. Without it the work would grow with the square of a line's length.
const mostErased = 512

// erase carries out EL: behind the cursor, before it, or all.
func (l *line) erase(which int) {
	if which == 1 || which == 2 {
		end := min(l.cursor+1, len(l.cells))
		for i := max(end-mostErased, 0); i < end; i++ {
			l.cells[i] = ' '
		}
	}
	if which != 1 {
		l.cells = l.cells[:min(l.cursor, len(l.cells))]
	}
}

// take returns the line and begins a new one. Blanks at the end of a line in
// which the cursor has moved are what erased other text.
func (l *line) take() []byte {
	if l.edited {
		end := len(l.cells)
		for end > 0 && l.cells[end-1] == ' ' {
			end--
		}
		l.text = l.text[:0]
		for _, r := range l.cells[:end] {
			l.text = utf8.AppendRune(l.text, r)
		}
	}
	took := l.text
	l.text, l.cells, l.cursor, l.edited = l.text[:0], l.cells[:0], 0, false
	return took
}
