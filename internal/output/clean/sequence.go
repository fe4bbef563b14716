package clean

import "bytes"

// effect is what a control sequence does to the line that it is in. Sequences
// that do anything else (colours, titles, other lines, modes) have none.
type effect struct {
	do byte // a final byte of CSI: C D G K; 0: nothing
	n  int  // its first parameter; -1: not given
}

// mostParameters bounds the parameters of one sequence; longer ones are text
// that happens to follow an escape.
const mostParameters = 256

// sequence reads the control sequence at the start of p, which begins with ESC
// or with the control character CSI in UTF-8, and returns its length. It
// follows ECMA-48, with the strings of xterm. A sequence that does not end
// counts only as far as its introducer reaches, so that no output is lost in
// it.
func sequence(p []byte) (length int, e effect) {
	if p[0] != esc {
		return controlSequence(p, len(csi))
	}
	if len(p) == 1 {
		return 1, e
	}
	switch c := p[1]; {
	case c == '[':
		return controlSequence(p, 2)
	case c == ']', c == 'X', c == '^', c == '_':
		return controlString(p, false), e
	case c == 'P':
		return controlString(p, true), e
	case c >= 0x20 && c <= 0x2f: // ESC, intermediates, a final byte
		i := 1
		for i < len(p) && i < mostParameters && p[i] >= 0x20 && p[i] <= 0x2f {
			i++
		}
		if i < len(p) && p[i] >= 0x30 && p[i] <= 0x7e {
			i++
		}
		return i, e
	case c >= 0x30 && c <= 0x7e:
		return 2, e
	default:
		return 1, e
	}
}

const esc = 0x1b

// csi is U+009B, which begins a control sequence as ESC [ does.
var csi = []byte{0xc2, 0x9b}

// controlSequence reads parameters, intermediates and the final byte behind an
// introducer of the given length.
func controlSequence(p []byte, introducer int) (length int, e effect) {
	i := introducer
	n, given, first, private := 0, false, true, false
	for ; i < len(p) && i < mostParameters && p[i] >= 0x20 && p[i] <= 0x3f; i++ {
		switch c := p[i]; {
		case c >= '0' && c <= '9' && first:
			n, given = min(n*10+int(c-'0'), 1<<20), true
		case c == ';', c == ':':
			first = false
		default:
			private = true
		}
	}
	if i == len(p) || p[i] < 0x40 || p[i] > 0x7e {
		return i, e // cut off, or broken
	}
	if !given {
		n = -1
	}
	switch final := p[i]; {
	case private:
	case final == 'C', final == 'D', final == 'G', final == 'K':
		e = effect{final, n}
	case final == '`':
		e = effect{'G', n}
	case final == 'J' && n <= 0: // from here to the end of the screen
		e = effect{'K', 0}
	}
	return i + 1, e
}

// controlString returns the length of a string sequence (OSC, DCS, SOS, PM,
// APC) with its end: ST, or BEL as xterm has it; another sequence and CAN or
// SUB end it, too. Only images (DCS) have line ends inside.
func controlString(p []byte, lines bool) int {
	const introducer = 2
	for i := introducer; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\a', c == 0x18, c == 0x1a:
			return i + 1
		case c == esc && i+1 < len(p) && p[i+1] == '\\':
			return i + 2
		case c == esc:
			if lines && bytes.IndexByte(p[:i], '\n') >= 0 {
				return introducer
			}
			return i
		case c == 0xc2 && i+1 < len(p) && p[i+1] == 0x9c:
			return i + 2
		case c == '\n' && !lines:
			return introducer
		}
	}
	return introducer
}
