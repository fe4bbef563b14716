package audit

import (
	"bytes"
	"encoding/json"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// encoder encodes records as JSON. It must not be used concurrently.
type encoder struct {
	raw  bytes.Buffer
	json *json.Encoder
	out  []byte
}

func newEncoder() *encoder {
	e := &encoder{}
	e.json = json.NewEncoder(&e.raw)
	e.json.SetEscapeHTML(false)
	return e
}

// encode returns the members of r without the braces around them. They are
// valid until the next call.
func (e *encoder) encode(r *Record) ([]byte, error) {
	e.raw.Reset()
	if err := e.json.Encode(r); err != nil {
		return nil, err
	}
	object := bytes.TrimSuffix(e.raw.Bytes(), []byte("\n"))
	members := object[1 : len(object)-1]
	if printable(members) {
		return members, nil
	}
	e.out = AppendPrintable(e.out[:0], members)
	return e.out, nil
}

// printable reports whether text is printable ASCII.
func printable(text []byte) bool {
	for _, b := range text {
		if b < ' ' || b >= 0x7f {
			return false
		}
	}
	return true
}

// AppendPrintable appends JSON text to out and replaces every rune that does not print
// by \uXXXX, as records have it: a line of a trail must not be able to drive the
// terminal that shows it. In JSON such runes occur only in strings, where the escape
// means the same. A line of a trail stays unchanged. Bytes that are not UTF-8, which
// JSON cannot contain, become \ufffd.
func AppendPrintable(out, text []byte) []byte {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			out = appendEscape(out, r)
		case unicode.IsPrint(r):
			out = append(out, text[i:i+size]...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = appendEscape(appendEscape(out, high), low)
		default:
			out = appendEscape(out, r)
		}
		i += size
	}
	return out
}

func appendEscape(out []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
