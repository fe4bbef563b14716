package clients

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// str reads a string of one of the four kinds.
func (r *tomlReader) str() string {
	quote := r.text[r.at : r.at+1]
	if strings.HasPrefix(r.text[r.at:], quote+quote+quote) {
		return r.long(quote)
	}
	r.at++
	start := r.at
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == quote[0]:
			r.at++
			return r.unescape(r.text[start:r.at-1], quote)
		case c == '\n':
			r.fail("a string does not end on its line")
		case c == '\\' && quote == `"`:
			r.at++
		}
		r.at++
	}
	r.fail("a string does not end")
	return ""
}

// long reads a string in three quotes. Up to two more may stand before the end.
func (r *tomlReader) long(quote string) string {
	r.at += 3
	start := r.at
	for r.at < len(r.text) {
		if strings.HasPrefix(r.text[r.at:], quote+quote+quote) {
			for range 2 {
				if strings.HasPrefix(r.text[r.at+3:], quote) {
					r.at++
				}
			}
			body := r.text[start:r.at]
			r.at += 3
			body = strings.TrimPrefix(strings.TrimPrefix(body, "\r"), "\n")
			return r.unescape(body, quote)
		}
		if r.text[r.at] == '\\' && quote == `"` {
			r.at++
		}
		r.at++
	}
	r.fail("a string in three quotes does not end")
	return ""
}

func (r *tomlReader) unescape(s, quote string) string {
	if quote == "'" || !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			r.fail("an escape is cut off")
		}
		if n := strings.IndexByte("btnfr\"\\e", s[i]); n >= 0 {
			b.WriteByte("\b\t\n\f\r\"\\\x1b"[n])
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		switch {
		case digits > 0 && i+digits < len(s):
			n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(n)) {
				r.fail("%q is no character", s[i-1:i+1+digits])
			}
			b.WriteRune(rune(n))
			i += digits
		case strings.TrimLeft(s[i:], " \t") != "" && strings.ContainsAny(strings.TrimLeft(s[i:], " \t")[:1], "\r\n"):
			i += len(s[i:]) - len(strings.TrimLeft(s[i:], " \t\r\n")) - 1
		default:
			r.fail("the escape \\%c is unknown", s[i])
		}
	}
	return b.String()
}

// quoteTOML writes a string in one line.
func quoteTOML(s string) string {
	if !strings.ContainsAny(s, "'\n\r") && strings.ContainsAny(s, `"\`) && printable(s) {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String() + `"`
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == 0x7f || c == utf8.RuneError })
}
