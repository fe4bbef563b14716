package trailread

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendPrintable appends JSON text to out with \uXXXX in place of every
// character that does not print, as package audit writes it; for other readers
// that means the same. A line that tipstaff wrote stays as it is. Bytes that
// are no UTF-8, which no JSON has, become \ufffd.
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
