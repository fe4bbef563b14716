package scan

import "strings"

// ansi decodes the text of $'…' as Bash does. It gives up where the result
// depends on the locale, or ends the text early.
func ansi(text string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			continue
		}
		if i++; i == len(text) {
			return "", false
		}
		if c, simple := ansiLetters[text[i]]; simple {
			out.WriteByte(c)
			continue
		}
		c, used, ok := ansiCode(text[i:])
		if !ok || c == 0 {
			return "", false
		}
		if used == 0 { // no escape: the backslash stays
			out.WriteByte('\\')
			out.WriteByte(text[i])
			continue
		}
		out.WriteByte(c)
		i += used - 1
	}
	return out.String(), true
}

var ansiLetters = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansiCode reads a number behind a backslash. used is how many bytes it has, 0
// if the backslash begins no escape.
func ansiCode(text string) (c byte, used int, ok bool) {
	switch c := text[0]; {
	case '0' <= c && c <= '7':
		n, digits := number(text, 8, 3)
		return byte(n), digits, true
	case c == 'x':
		n, digits := number(text[1:], 16, 2)
		return byte(n), digits + 1, digits > 0
	case c == 'u' || c == 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		n, digits := number(text[1:], 16, most)
		return byte(n), digits + 1, digits > 0 && n < 0x80
	case c == 'c', c == '\n':
		return 0, 0, false
	}
	return 1, 0, true
}

// number reads at most most digits.
func number(text string, base, most int) (n, digits int) {
	for digits < most && digits < len(text) {
		d := strings.IndexByte("0123456789abcdef", text[digits]|0x20)
		if text[digits] < 'A' {
			d = strings.IndexByte("0123456789", text[digits])
		}
		if d < 0 || d >= base {
			break
		}
		n = n*base + d
		digits++
	}
	return n, digits
}
