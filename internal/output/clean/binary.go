package clean

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"unicode/utf8"
)

// Output is described instead of shown if more than a third of its bytes are no
// text, or a twentieth where its first bytes name a format that is not text.
const (
	mostOdd      = 3
	mostOddKnown = 20
	// leastBinary is how many bytes are described at least; fewer are shown.
	leastBinary = 64
)

// binary describes output that is mostly not text: its size, its format where
// the first bytes tell it, and its digest where all of it was kept. ok is false
// for text.
func binary(head, tail []byte, dropped int64) (description string, ok bool) {
	total := int64(len(head)) + dropped + int64(len(tail))
	odd := oddBytes(head) + oddBytes(tail)
	if odd == 0 || total < leastBinary {
		return "", false
	}
	format := formatOf(head)
	kept := len(head) + len(tail)
	if odd*mostOdd <= kept && (format == "" || odd*mostOddKnown <= kept) {
		return "", false
	}
	description = "[binary, " + ByteCount(total)
	if format != "" {
		description += ", " + format
	}
	if dropped == 0 {
		sum := sha256.New()
		sum.Write(head)
		sum.Write(tail)
		description += fmt.Sprintf(", sha256 %x", sum.Sum(nil))
	}
	return description + "]\n", true
}

// oddBytes counts the bytes that do not occur in text: control characters that
// no terminal gets, and what is not UTF-8.
func oddBytes(p []byte) int {
	odd := 0
	for len(p) > 0 {
		if b := p[0]; b < utf8.RuneSelf {
			if b < ' ' && bytes.IndexByte(usualControls, b) < 0 {
				odd++
			}
			p = p[1:]
			continue
		}
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			odd++
		}
		p = p[n:]
	}
	return odd
}

// usualControls are the control characters of text for terminals.
var usualControls = []byte("\a\b\t\n\v\f\r\x0e\x0f\x1b")

// ByteCount writes a number of bytes for people.
func ByteCount(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
}
