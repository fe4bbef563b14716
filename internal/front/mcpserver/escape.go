package mcpserver

import (
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escapeInvisible writes every invisible character as a \u escape, so that an
// answer shown in a terminal has no effect on it. doc is valid JSON, in which
// such characters appear only inside strings.
func escapeInvisible(doc []byte) []byte {
	clean := true
	for _, c := range doc {
		if c == 0x7f || c >= utf8.RuneSelf {
			clean = false
			break
		}
	}
	if clean {
		return doc
	}
	out := make([]byte, 0, len(doc)+len(doc)/8)
	for i := 0; i < len(doc); {
		r, n := utf8.DecodeRune(doc[i:])
		if unicode.IsPrint(r) || r == '\n' {
			out = append(out, doc[i:i+n]...)
		} else {
			for _, u := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, u)
			}
		}
		i += n
	}
	return out
}
