package terminal

import "unicode/utf8"

// parser is how far a sequence has come: ECMA-48, with xterm's extensions.
type parser struct {
	state   parserState
	partial [utf8.UTFMax]byte // of a character
	have    int

	private byte // the first character of a control sequence, if it is one of <=>?
	between byte // the intermediate character; 0: none
	params  [mostParams]int
	count   int
}

const (
	mostParams = 32
	mostParam  = 65535
)

type parserState int

const (
	ground parserState = iota
	escape
	escapeBetween
	control  // a control sequence: CSI
	controls // one that is not understood, until its end
	text0    // a control string: OSC, DCS, APC, PM, SOS
	textEsc  // an ESC in it
)

// Control characters.
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
)

// take takes one byte.
func (s *Screen) take(b byte) {
	if s.state == text0 || s.state == textEsc {
		s.inText(b)
		return
	}
	switch {
	case b == esc:
		s.flush()
		s.state = escape
	case b == can, b == sub:
		s.flush()
		s.state = ground
	case b < ' ':
		s.flush()
		s.single(b)
	case s.state == ground:
		s.character(b)
	case b == del || b > del:
		if b > del {
			s.state = ground
			s.character(b)
		}
	case s.state == escape:
		s.inEscape(b)
	case s.state == escapeBetween:
		s.designate(b)
	default:
		s.inControl(b)
	}
}

// inText skips a control string. A BEL ends it, and ESC \.
func (s *Screen) inText(b byte) {
	switch {
	case b == bel, b == can, b == sub:
		s.state = ground
	case b == esc:
		s.state = textEsc
	case s.state == textEsc:
		// Any other sequence ends it as well.
		if s.state = escape; b == '\\' {
			s.state = ground
			return
		}
		s.take(b)
	}
}

// character collects the bytes of a character.
func (s *Screen) character(b byte) {
	switch {
	case s.have == 0 && b < utf8.RuneSelf:
		if b != del {
			s.print(rune(b))
		}
		return
	case s.have > 0 && utf8.RuneStart(b):
		s.flush()
		s.character(b)
		return
	}
	s.partial[s.have] = b
	s.have++
	if !utf8.FullRune(s.partial[:s.have]) {
		return
	}
	r, size := utf8.DecodeRune(s.partial[:s.have])
	if r == utf8.RuneError && size == 1 {
		s.flush()
		return
	}
	s.have = 0
	if r >= 0xa0 { // C1 controls are no characters
		s.print(r)
	}
}

// flush gives up an incomplete character.
func (s *Screen) flush() {
	if s.have > 0 {
		s.have = 0
		s.print(utf8.RuneError)
	}
}

func (s *Screen) inEscape(b byte) {
	s.state = ground
	switch {
	case b == '[':
		s.state, s.private, s.between, s.count = control, 0, 0, 0
		s.params = [mostParams]int{}
	case b == ']', b == 'P', b == '_', b == '^', b == 'X':
		s.state = text0
	case b < '0':
		s.state, s.between = escapeBetween, b
	default:
		s.escaped(b)
	}
}

// inControl takes a byte of a control sequence.
func (s *Screen) inControl(b byte) {
	switch {
	case b >= '@':
		understood := s.state == control
		s.state = ground
		if understood {
			s.sequence(b)
		}
	case s.state == controls:
	case b >= '<' && s.count == 0 && s.private == 0:
		s.private = b
	case b >= '<':
		s.state = controls
	case b < '0':
		s.between = b
	case s.between != 0:
		s.state = controls
	case b == ';', b == ':':
		s.count = min(max(s.count, 1)+1, mostParams)
	default:
		s.count = max(s.count, 1)
		p := &s.params[s.count-1]
		*p = min(*p*10+int(b-'0'), mostParam)
	}
}

// param returns a parameter, or what it is if it is not given. No number that
// counts is 0.
func (s *Screen) param(i, missing int) int {
	if i >= s.count || s.params[i] == 0 {
		return missing
	}
	return s.params[i]
}
