package admin

import (
	"context"
)

// key is what a person has pressed: a character, or one of those below.
type key rune

const (
	keyUp key = -1 - iota
	keyDown
	keyPageUp
	keyPageDown
	keyHome
	keyEnd
	keyEscape
	keyEnter
)

// sequences are what terminals send for keys that are no characters.
var sequences = map[string]key{ //nolint:gochecknoglobals // a table
	"\x1b[A": keyUp, "\x1b[B": keyDown, "\x1bOA": keyUp, "\x1bOB": keyDown,
	"\x1b[5~": keyPageUp, "\x1b[6~": keyPageDown, "\x1b[H": keyHome, "\x1b[F": keyEnd, "\x1bOH": keyHome, "\x1bOF": keyEnd,
	"\x1b[1~": keyHome, "\x1b[4~": keyEnd,
	"\x1b[D": keyEscape, "\x1bOD": keyEscape, // left goes back
	"\x1b[C": keyEnter, "\x1bOC": keyEnter,
	"\x1b": keyEscape, "\r": keyEnter, "\n": keyEnter,
}

// keysIn reads the keys in what a terminal has sent in one go. A sequence that is not
// known is no key.
func keysIn(p string) []key {
	var keys []key
	for len(p) > 0 {
		n := 1
		if p[0] == '\x1b' && len(p) > 1 && (p[1] == '[' || p[1] == 'O') {
			for n = 2; n < len(p) && (p[n] < '@' || p[n] > '~'); n++ {
			}
			n = min(n+1, len(p))
		}
		switch k, known := sequences[p[:n]]; {
		case known:
			keys = append(keys, k)
		case n == 1 && p[0] >= ' ' && p[0] < 0x7f:
			keys = append(keys, key(p[0]))
		}
		p = p[n:]
	}
	return keys
}

// listen sends the keys that are pressed, until ctx is done or the terminal is gone;
// then keys is closed.
func (t *terminal) listen(ctx context.Context, keys chan<- key) {
	defer close(keys)
	buf := make([]byte, 64)
	for ctx.Err() == nil {
		if !t.ready(200) {
			continue
		}
		n, err := t.in.Read(buf)
		if err != nil || n == 0 {
			return
		}
		for _, k := range keysIn(string(buf[:n])) {
			select {
			case keys <- k:
			case <-ctx.Done():
				return
			}
		}
	}
}
