package spool

import "tipstaff/internal/redact"

// secretContext is what is known of one stream around a part that is shown, and which
// secrets are in it.
type secretContext struct {
	text   string
	hidden []redact.Hidden
	at     int // how far the part was shown
}

// newSecretContext puts the chunks of a stream together. What is shown begins with the
// chunks of middle.
func newSecretContext(s Stream, r *redact.Redactor, before, middle, after []chunk) secretContext {
	var text []byte
	add := func(chunks []chunk) {
		for _, c := range chunks {
			if c.from == s {
				text = append(text, c.data...)
			}
		}
	}
	add(before)
	begin := len(text)
	add(middle)
	add(after)
	one := secretContext{text: string(text), at: begin}
	one.hidden = r.Hidden(one.text)
	return one
}

// next appends the next n bytes of the stream to out, without its secrets. The
// mark of a secret stands where it begins.
func (s *secretContext) next(out []byte, n int) []byte {
	out = appendShown(out, s.text, s.hidden, s.at, s.at+n)
	s.at += n
	return out
}

// appendShown appends text[from:to] without what is hidden.
func appendShown(out []byte, text string, hidden []redact.Hidden, from, to int) []byte {
	for _, h := range hidden {
		if h.To <= from {
			continue
		}
		if h.From >= to {
			break
		}
		if h.From >= from {
			out = append(out, text[from:h.From]...)
			out = append(out, h.Mark...)
		}
		from = min(h.To, to)
	}
	return append(out, text[from:to]...)
}
