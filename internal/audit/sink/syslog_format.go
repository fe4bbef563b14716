package sink

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	appName  = "tipstaff"
	facility = 13 // log audit (RFC 5424, table 1)
	// maxSyslog bounds a message. Receivers must only accept less, but this is
	// what the common ones (rsyslog) accept by default.
	maxSyslog = 8 << 10
	// structured is the id of the structured data. 32473 is the enterprise
	// number that RFC 5612 reserves for examples.
	structured = "tipstaff@32473"
)

// syslogHeader is the part that all messages of a process share.
type syslogHeader struct{ host, pid string }

// format returns a message in the format of RFC 5424. A message that is too
// long is cut between characters, and the structured data says by how much.
func (h syslogHeader) format(m Message) []byte {
	f := m.facts()
	// The record is JSON, and usually ASCII. The byte order mark declares it as
	// UTF-8.
	const bom = "\ufeff"
	head, body := h.head(m, f, 0), string(m.Body)
	if room := maxSyslog - len(head) - len(bom) - 1; len(body) > room {
		room -= len(` cut="1234567890"`)
		cut := max(0, room)
		for cut > 0 && !utf8.RuneStart(body[cut]) {
			cut--
		}
		head, body = h.head(m, f, len(body)-cut), body[:cut]
	}
	return []byte(head + " " + bom + body)
}

// head returns everything before the text.
func (h syslogHeader) head(m Message, f facts, cut int) string {
	var b strings.Builder
	b.WriteString("<" + strconv.Itoa(facility*8+int(f.severity)) + ">1 ")
	b.WriteString(f.time.UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
	b.WriteString(" " + printable(h.host, 255) + " " + appName + " " + printable(h.pid, 128) + " " + printable(f.event, 32) + " [" + structured)
	params := []struct{ name, value string }{
		{"trail", m.Trail}, {"seq", seqText(m.Seq)}, {"event", f.event}, {"code", f.code},
		{"name", f.name}, {"session", f.session}, {"command", f.command},
	}
	if cut > 0 {
		params = append(params, struct{ name, value string }{"cut", strconv.Itoa(cut)})
	}
	for _, p := range params {
		if p.value != "" {
			b.WriteString(" " + p.name + `="` + paramValue(p.value) + `"`)
		}
	}
	b.WriteString("]")
	return b.String()
}

// printable returns a header field: printable ASCII without blanks, of bounded
// length, "-" if it would be empty.
func printable(s string, longest int) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	if s == "" {
		return "-"
	}
	return s[:min(len(s), longest)]
}

// paramValue escapes what RFC 5424 (6.3.3) requires, drops control characters,
// and bounds the length; the longest value is a session's id.
func paramValue(s string) string {
	const longest = 512
	s = strings.ToValidUTF8(s[:min(len(s), longest)], "\ufffd")
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"', r == '\\', r == ']':
			b.WriteString(`\` + string(r))
		case r >= ' ' && r != 0x7f:
			b.WriteRune(r)
		}
	}
	return b.String()
}
