package mcpfront

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"tipstaff/internal/argv"
	"tipstaff/internal/redact"
)

// What is kept of a stream to find its last line: enough that a secret is seen
// with what stands before it. Half of the buffer is kept when it is full, so a
// stream costs one copy of at most that much for each piece.
const (
	lineWindow = 4 << 10
	lineBuffer = 2 * lineWindow
	maxLineOut = 200 // characters that are told
)

// lastLine keeps the end of a stream. The zero lastLine has heard nothing.
type lastLine struct {
	buf []byte
	cut bool // what is kept does not begin where the stream or a line does
}

// write takes a piece, and reports whether a line ended in it.
func (l *lastLine) write(p []byte) bool {
	if len(p) > lineWindow {
		p, l.buf, l.cut = p[len(p)-lineWindow:], l.buf[:0], true
	}
	if l.buf == nil {
		l.buf = make([]byte, 0, lineBuffer)
	}
	if len(l.buf)+len(p) > lineBuffer {
		n := copy(l.buf, l.buf[len(l.buf)-lineWindow:])
		l.buf, l.cut = l.buf[:n], true
	}
	l.buf = append(l.buf, p...)
	return bytes.ContainsAny(p, "\n\r")
}

// whole gives the whole lines that are kept. What has no end yet is not told:
// half a secret looks like none.
func (l *lastLine) whole() string {
	text := l.buf
	if l.cut {
		begin := bytes.IndexAny(text, "\n\r")
		if begin < 0 {
			return ""
		}
		text = text[begin+1:]
	}
	return string(text[:bytes.LastIndexAny(text, "\n\r")+1])
}

// shownLine is the last line of text that has something on it, without secrets,
// on one printable line.
func shownLine(r *redact.Redactor, text string) string {
	text = r.Text(strings.ToValidUTF8(text, "\uFFFD"))
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "" {
			continue
		}
		line = argv.Escape(line)
		if utf8.RuneCountInString(line) > maxLineOut {
			line = string([]rune(line)[:maxLineOut]) + "…"
		}
		return line
	}
	return ""
}
