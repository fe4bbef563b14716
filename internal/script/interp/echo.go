//go:build linux

package interp

import (
	"strings"
	"unicode/utf8"
)

func echo(s *Shell, a []string) int {
	newline, escapes := true, false
	args := a[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				newline = false
			default:
				escapes = c == 'e'
			}
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		var stops bool
		if text, stops = backslashes(text, false); stops {
			newline = false
		}
	}
	if newline {
		text += "\n"
	}
	return s.wrote(text)
}

// backslashes replaces the escapes of echo -e and, with octal numbers without a zero
// before them, of printf %b; stops: there was \c.
func backslashes(text string, octal bool) (result string, stops bool) {
	var t strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			t.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; {
		case c == 'c':
			return t.String(), true
		case c == '0':
			n := digits(text[i+1:], 3, 8)
			t.WriteByte(byte(numberOf(text[i+1:i+1+n], 8)))
			i += n
		case octal && c >= '1' && c <= '7':
			n := digits(text[i:], 3, 8)
			t.WriteByte(byte(numberOf(text[i:i+n], 8)))
			i += n - 1
		case c == '\'' || c == '"' || c == '?':
			t.WriteString(`\` + string(c))
		default:
			i += escape(&t, text[i:]) - 1
		}
	}
	return t.String(), false
}

// escape writes what an escape stands for, without its backslash, and returns how
// much of the text it is.
func escape(t *strings.Builder, text string) int {
	if i := strings.IndexByte(`abeEfnrtv\`, text[0]); i >= 0 {
		t.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\"[i])
		return 1
	}
	limit := 0
	switch text[0] {
	case 'x':
		limit = 2
	case 'u':
		limit = 4
	case 'U':
		limit = 8
	}
	n := digits(text[1:], limit, 16)
	if n == 0 {
		t.WriteByte('\\')
		t.WriteByte(text[0])
		return 1
	}
	v := numberOf(text[1:1+n], 16)
	if text[0] == 'x' {
		t.WriteByte(byte(v))
	} else {
		t.Write(utf8.AppendRune(nil, rune(v)))
	}
	return 1 + n
}

// digits counts the digits at the beginning of a text, at most limit.
func digits(text string, limit int, base int64) int {
	n := 0
	for n < len(text) && n < limit {
		d := digit(text[n], 16)
		if d < 0 || d >= base {
			break
		}
		n++
	}
	return n
}

func numberOf(text string, base int64) (n int64) {
	for i := range len(text) {
		n = n*base + digit(text[i], 16)
	}
	return n
}

// ansi is the text of $'…'.
func ansi(text string) string {
	var t strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			t.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; {
		case c >= '0' && c <= '7':
			n := digits(text[i:], 3, 8)
			t.WriteByte(byte(numberOf(text[i:i+n], 8)))
			i += n - 1
		case c == 'c' && i+1 < len(text):
			i++
			t.WriteByte(text[i] & 0x1f)
		case c == '\'' || c == '"' || c == '?':
			t.WriteByte(c)
		default:
			i += escape(&t, text[i:]) - 1
		}
	}
	text, _, _ = strings.Cut(t.String(), "\x00")
	return text
}
