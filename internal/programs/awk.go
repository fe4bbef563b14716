package programs

import "strings"

// awkStarts finds where an awk program starts other programs: system(…), a
// pipe, a coprocess, an extension, a call through a variable. It skips strings,
// regular expressions and comments. A slash that may be a division or begin a
// regular expression is read as a division, so that nothing after it is
// overlooked.
func awkStarts(text string) string {
	last := byte(0) // the last significant character
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = pastQuoted(text, i, '"')
			last = '"'
		case c == '/' && beginsPattern(last):
			i = pastQuoted(text, i, '/')
			last = '/'
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
			last = ';'
		case c == '|':
			if strings.HasPrefix(text[i:], "||") {
				i++
				last = '|'
				continue
			}
			return cut(text[i:])
		case c == '@': // @load, @include, or a call through a variable
			return cut(text[i:])
		case c == '\\' && strings.HasPrefix(text[i:], "\\\n"):
			i++ // the statement continues on the next line
		case beginsWord(c):
			end := i
			for end < len(text) && inWord(text[end]) {
				end++
			}
			if name := text[i:end]; name == "system" && strings.HasPrefix(strings.TrimLeft(text[end:], " \t"), "(") {
				return "system("
			}
			i, last = end-1, 'a'
		case c != ' ' && c != '\t':
			last = c
		}
	}
	return ""
}

// beginsPattern reports whether a slash after this character opens a regular
// expression: a slash there cannot be a division.
func beginsPattern(last byte) bool {
	return last == 0 || strings.IndexByte("(,{};!~&|\n?:=", last) >= 0
}

// pastQuoted returns the index of the quote that closes the one at i; the end
// of the text if there is none.
func pastQuoted(text string, i int, quote byte) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return i
}

func beginsWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func notInWord(r rune) bool { return r > '~' || !inWord(byte(r)) }

func inWord(c byte) bool { return beginsWord(c) || '0' <= c && c <= '9' }
