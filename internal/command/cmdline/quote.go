package cmdline

import "strings"

// Quote writes words as a command line. Split(Quote(words)) returns the words
// for all words without NUL, and a POSIX shell reads the same words.
//
// Control characters stay as they are, inside single quotes, because POSIX has
// no other way to write them, so the result may have several lines. Use
// [Display] for text that people read.
func Quote(words []string) string {
	return join(words, func(w string) string { return single(w) })
}

// join writes every word bare where it can be, and otherwise with quoted.
func join(words []string, quoted func(string) string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if isBare(w, i == 0) {
			b.WriteString(w)
		} else {
			b.WriteString(quoted(w))
		}
	}
	return b.String()
}

// isBare reports whether a word needs no quotes, not even when a person pastes
// it into a shell. As the first word it must not be read as a keyword or an
// assignment.
func isBare(w string, first bool) bool {
	if w == "" {
		return false
	}
	for i := range len(w) {
		c := w[i]
		if !isName(c) && strings.IndexByte("-+./:,@%=", c) < 0 {
			return false
		}
	}
	if !first {
		return true
	}
	return !strings.Contains(w, "=") && !isKeyword(w)
}

func single(w string) string {
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
