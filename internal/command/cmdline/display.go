package cmdline

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Display writes words as one printable line for people: in logs, questions
// and refusals. Every control, invisible, bidirectional or malformed character
// shows as an escape in $'…', which bash reads back and [Split] refuses.
func Display(words []string) string {
	return join(words, func(w string) string {
		if Escape(w) != w {
			return "$'" + strings.ReplaceAll(escapeQuoted(w), "'", `\'`) + "'"
		}
		return single(w)
	})
}

// Escape returns text as one printable line, with every invisible character as
// an escape. It quotes nothing, so it is for people only.
func Escape(text string) string { return escapeWith(text, "") }

// EscapeLines is [Escape] for text of several lines and keeps the line ends.
func EscapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Escape(lines[i])
	}
	return strings.Join(lines, "\n")
}

// escapeQuoted is Escape with backslashes doubled, as $'…' needs.
func escapeQuoted(text string) string { return escapeWith(text, `\`) }

// escapeWith writes a text so that it can be read on a terminal and in a log:
// what cannot be seen, and each character of also, is escaped. Every byte that
// is no UTF-8 keeps its value, so that two different texts never look the same.
func escapeWith(text, also string) string {
	if isPlain(text, also) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80 && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case !visible(r) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case !visible(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case strings.ContainsRune(also, r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// visible reports whether a person can see r. Some characters that Unicode
// calls printable look like nothing: the ignorable fillers, variation
// selectors, and the blank Braille pattern.
func visible(r rune) bool {
	return unicode.IsPrint(r) && r != '\u2800' &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func isPlain(text, also string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || strings.IndexByte(also, c) >= 0 {
			return false
		}
	}
	return true
}
