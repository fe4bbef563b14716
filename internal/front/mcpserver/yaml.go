package mcpserver

import (
	"fmt"
	"strconv"
	"strings"
)

// mapping is a YAML mapping that keeps the order in which it was filled. It is
// written here and not by a library, because no library writes literal blocks
// wherever YAML has them.
type mapping struct {
	b     strings.Builder
	named bool // it has the id of the command
}

func (m *mapping) integer(key string, n int) { m.b.WriteString(key + ": " + strconv.Itoa(n) + "\n") }
func (m *mapping) boolean(key string, b bool) {
	m.b.WriteString(key + ": " + strconv.FormatBool(b) + "\n")
}

// text adds a string in a form that every YAML parser, including those for 1.1,
// reads back as the same string: as a literal block, if it may stand in one and
// that reads better than quotes.
func (m *mapping) text(key, s string) {
	m.b.WriteString(key + ": ")
	if strings.ContainsAny(s, "\n\t\"\\") && fitsBlock(s) {
		block(&m.b, s)
		return
	}
	quote(&m.b, s)
}

// quoted adds a string in one line.
func (m *mapping) quoted(key, s string) { m.b.WriteString(key + ": " + oneLine(s) + "\n") }

// oneLine is a string as a double-quoted scalar. Bytes that are no text become U+FFFD.
func oneLine(s string) string {
	var b strings.Builder
	quote(&b, s) // ends the line
	return strings.TrimSuffix(b.String(), "\n")
}

func (m *mapping) encode() string { return m.b.String() }

// blockIndent is how far the lines of a block are indented, and the indicator
// that says so.
const blockIndent = 2

// block writes a literal block (YAML 1.2.2, 8.1): | keeps one line end, |- none,
// |+ all. The indicator of indentation is needed where the first line would
// tell another.
func block(b *strings.Builder, s string) {
	b.WriteByte('|')
	if strings.ContainsRune(" \t\n", rune(s[0])) {
		b.WriteString(strconv.Itoa(blockIndent))
	}
	switch {
	case !strings.HasSuffix(s, "\n"):
		b.WriteByte('-')
	case strings.HasSuffix(strings.TrimSuffix(s, "\n"), "\n"), blankEnd(s):
		b.WriteByte('+')
	}
	b.WriteByte('\n')
	for line := range strings.Lines(s) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	if !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}

// blankEnd reports whether the last line of s has nothing but blanks.
func blankEnd(s string) bool {
	s = strings.TrimSuffix(s, "\n")
	return strings.Trim(s[strings.LastIndexByte(s, '\n')+1:], " ") == ""
}

// fitsBlock reports whether all parsers read s back from a literal block: it
// has a line that is not blank, its last line is complete or not blank, and
// every character is printable.
func fitsBlock(s string) bool {
	if strings.Trim(s, " \t\n") == "" || !strings.HasSuffix(s, "\n") && blankEnd(s) {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !printable(r) {
			return false
		}
	}
	return true
}

// printable is what YAML calls printable, without line ends of YAML 1.1, the
// byte order mark, and characters that hide what is there.
func printable(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
		return false
	}
	return true
}

// quote writes a double-quoted scalar (YAML 1.2.2, 7.3.1) in one line.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case printable(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteString("\"\n")
}
