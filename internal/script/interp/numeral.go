//go:build linux

package interp

import (
	"fmt"
	"strconv"
	"strings"
)

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (e *evaluation) literal() (int64, error) {
	e.blank()
	end := e.at
	for end < len(e.text) && (wordByte(e.text[end]) || e.text[end] == '#' || e.text[end] == '@') {
		end++
	}
	if end == e.at || e.text[e.at] < '0' || e.text[e.at] > '9' {
		return 0, e.wrong("syntax error: operand expected")
	}
	n, err := numeral(e.text[e.at:end])
	if err != nil {
		return 0, err
	}
	e.at = end
	return n, nil
}

// numeral reads 12, 012, 0x1f and 2#101.
func numeral(text string) (int64, error) {
	base, digits := int64(10), text
	switch {
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0X"):
		base, digits = 16, text[2:]
	case strings.Contains(text, "#"):
		b, rest, _ := strings.Cut(text, "#")
		n, err := strconv.ParseInt(b, 10, 64)
		if err != nil || n < 2 || n > 64 {
			return 0, fmt.Errorf("%s: invalid arithmetic base (error token is %q)", text, text)
		}
		if rest == "" {
			return 0, fmt.Errorf("%s: invalid integer constant (error token is %q)", text, text)
		}
		base, digits = n, rest
	case len(text) > 1 && text[0] == '0':
		base, digits = 8, text[1:]
	}
	var n int64
	for i := range len(digits) {
		d := digit(digits[i], base)
		if d < 0 {
			return 0, fmt.Errorf("%s: invalid number (error token is %q)", text, text)
		}
		if d >= base {
			return 0, fmt.Errorf("%s: value too great for base (error token is %q)", text, text)
		}
		n = n*base + d
	}
	return n, nil
}

func digit(c byte, base int64) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c >= 'a' && c <= 'z':
		return int64(c-'a') + 10
	case c >= 'A' && c <= 'Z' && base <= 36:
		return int64(c-'A') + 10
	case c >= 'A' && c <= 'Z':
		return int64(c-'A') + 36
	case c == '@':
		return 62
	case c == '_':
		return 63
	}
	return -1
}
