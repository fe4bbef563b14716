package mcpserver

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/redact"
)

// Bounds of what is kept of a stream to find its last line. It is enough to
// recognise a secret by the text before it. When the buffer is full, half of it
// is kept, so each piece costs one copy of at most that size.
const (
	lineWindow = 4 << 10
	lineBuffer = 2 * lineWindow
	maxLineOut = 200 // characters that are sent
)

// lastLine keeps the end of a stream. The zero lastLine is empty.
type lastLine struct {
	buf []byte
	cut bool // what is kept begins neither with the stream nor with a line
}

// write adds a piece, and reports whether a line ended in it.
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

// whole returns the complete lines that are kept. An incomplete line is not
// sent, because half of a secret cannot be recognised.
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

// shownLine returns the last line of text that is not blank, with secrets
// hidden, as one printable line.
func shownLine(r *redact.Redactor, text string) string {
	text = r.Text(strings.ToValidUTF8(text, "\uFFFD"))
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "" {
			continue
		}
		return shortened(cmdline.Escape(line))
	}
	return ""
}

func shortened(line string) string {
	if utf8.RuneCountInString(line) > maxLineOut {
		return string([]rune(line)[:maxLineOut]) + "…"
	}
	return line
}
